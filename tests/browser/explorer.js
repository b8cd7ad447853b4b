// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the explorer's page as a person would, by keyboard alone where that is possible.
//   node explorer.js CHROMIUM DIRECTORY URL
// The server behind URL has the stores arena, jss, kladde and tay, and each as NAME-damaged.
"use strict";
const assert = require("assert");
const path = require("path");
const { chromium } = require("playwright-core");
const [executablePath, directory, url] = process.argv.slice(2);

const sizes = [
  { name: "wide", viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  { name: "narrow", viewport: { width: 390, height: 844 }, colorScheme: "dark" },
];

// Ready: nothing is asked for any more and the view has drawn something.
async function settled(page) {
  await page.waitForLoadState("networkidle");
  await page.waitForFunction(() => document.querySelector("#panel > *") &&
    document.querySelector("#progress").hidden && !/…$/.test(document.querySelector("#panel").textContent.trim()));
  const width = await page.evaluate("document.documentElement.scrollWidth");
  assert(width <= page.viewportSize().width, `${page.url()}: ${width} pixels wide`);
}

// What has the focus, for messages.
const focused = (page) => page.evaluate(() => {
  const e = document.activeElement;
  return `${e.tagName} ${e.id} ${e.textContent.slice(0, 30)}`;
});

async function overview(page, damaged) {
  await page.waitForSelector(".card.verdict strong");
  assert.strictEqual(await page.textContent(".card.verdict strong"), damaged ? "damaged" : "clean");
  assert.strictEqual(await page.textContent("#verdict"), damaged ? "damaged" : "clean");
  assert((await page.locator(".tile").count()) >= 4);
  if (damaged) await page.waitForSelector(".finding .chip.error");
  assert.strictEqual((await page.locator(".finding .chip.error").count()) > 0, damaged);
  await page.getByText("Show distributions").click();
  await page.waitForSelector(".stats .bar, .problem");
}

async function map(page, shot, damaged) {
  if ((await page.locator("a.file").count()) > 0) {
    await shot("map");
    const files = page.locator("a.file");
    await files.first().focus();
    await page.keyboard.press("ArrowDown");
    const hurt = page.locator("a.file:has(.chip.hurt)");
    assert.strictEqual((await hurt.count()) > 0, damaged, "a hurt file is seen at once");
    await (damaged ? hurt.first() : files.last()).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("#zoomed");
    await settled(page);
  }
  const canvas = page.locator("#zoomed");
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("#panel .card h2");
  assert.match(await canvas.getAttribute("aria-label"), /at byte \d+, \d+ bytes/);
  const spanOf = async () => (await page.textContent(".axis")).replace(/\s/g, "");
  const before = await spanOf();
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await settled(page);
  assert.notStrictEqual(await spanOf(), before, "the map is zoomed by keys");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  assert.match(await page.textContent(".tip"), /bytes?$/);
  const keyed = await spanOf();
  await page.mouse.wheel(0, -300);
  await settled(page);
  assert.notStrictEqual(await spanOf(), keyed, "the map is zoomed by the wheel");
  assert((await page.locator("details tbody tr").count()) > 0, "the map has a table");
  await shot("map-zoomed");
  await canvas.focus();
  await page.keyboard.press("0");
  await settled(page);
  assert.match(await page.textContent(".axis"), /the whole file/);
  await page.keyboard.press("Enter");
  await page.waitForSelector("table.bytes");
  assert.match(page.url(), /\/bytes\?/);
  await page.goBack();
  await settled(page);
}

async function records(page, shot, format) {
  const rows = page.locator("table.rows tbody tr");
  await rows.first().waitFor();
  assert((await rows.count()) >= 10);
  await shot("records");
  // The filter, by its key.
  await page.locator("body").press("/");
  assert.match(await focused(page), /^(INPUT|SELECT)/);
  await page.keyboard.press("Escape");
  assert.doesNotMatch(await focused(page), /^(INPUT|SELECT)/, "Escape leaves a field");
  const next = page.locator('[data-key="n"]');
  if (await next.isEnabled()) {
    const first = await rows.first().textContent();
    await page.keyboard.press("n");
    await page.waitForFunction((t) => document.querySelector("table.rows tbody tr")?.textContent !== t, first);
    await settled(page);
    await page.keyboard.press("p");
    await page.waitForFunction((t) => document.querySelector("table.rows tbody tr")?.textContent === t, first);
    await settled(page);
  }
  await rows.first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector("pre.json");
  await settled(page);
  await shot("record");
  const shown = JSON.parse(await page.textContent("pre.json"));
  assert(typeof shown === "object" && Object.keys(shown).length >= 2);
  await page.getByRole("link", { name: "Bytes", exact: true }).click();
  await page.waitForSelector("table.bytes");
  await page.goBack();
  await settled(page);
  await page.keyboard.press("Escape");
  await rows.first().waitFor();

  await page.getByRole("link", { name: "State", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() =>
    document.querySelector('.segmented a[aria-current="true"]')?.textContent === "State" &&
    document.querySelector("table.rows tbody tr, #panel .problem"));
  await settled(page);
  await shot("state");
  if (format === "jss") await filtered(page);
}

// Only rows of one kind, and a time that is none.
async function filtered(page) {
  await page.getByRole("link", { name: "Log", exact: true }).click();
  await page.waitForFunction(() =>
    document.querySelector('.segmented a[aria-current="true"]')?.textContent === "Log");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  await page.fill('input[name="f.kind"]', "identity");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() =>
    document.querySelector("table.rows tbody td:nth-child(3)")?.textContent === "identity");
  await settled(page);
  const kinds = await page.locator("table.rows tbody tr td:nth-child(3)").allTextContents();
  assert(kinds.length > 0 && kinds.every((kind) => kind === "identity"), kinds.join());
  await page.fill('input[name="since"]', "yesterday");
  await page.keyboard.press("Enter");
  assert.match(await page.textContent('.form [role="alert"]'), /is no time/);
}

async function findings(page, shot, damaged) {
  await shot("findings");
  const errors = page.locator(".finding:has(.chip.error)");
  assert.strictEqual((await errors.count()) > 0, damaged);
  if (!damaged) return;
  assert((await page.locator("#tab-findings .count").count()) === 1);
  await errors.first().focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("table.bytes");
  await settled(page);
  assert((await page.locator("tr.fails").count()) > 0, "the bytes say what is wrong");
  await shot("finding-bytes");
}

async function bytes(page, shot) {
  await page.waitForSelector("table.bytes");
  await shot("bytes");
  const title = await page.textContent("h3");
  if (await page.locator('a[data-key="n"]').count()) {
    await page.keyboard.press("n");
    await page.waitForFunction((t) => document.querySelector("h3")?.textContent !== t, title);
    await settled(page);
    await page.keyboard.press("p");
    await page.waitForFunction((t) => document.querySelector("h3")?.textContent === t, title);
  }
  await page.fill('input[name="offset"]', "nowhere");
  await page.keyboard.press("Enter");
  assert.match(await page.textContent('.form [role="alert"]'), /number/);
  await page.fill('input[name="offset"]', "0x7fffffffffff");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() =>
    /No unit holds this byte|That cannot be asked/.test(document.querySelector("#panel").textContent));
}

// Tab reaches tools, tabs and content; nothing that can be focused is without a name.
async function reach(page) {
  const nameless = await page.evaluate(() => [...document.querySelectorAll("a, button, input, select, canvas[tabindex]")]
    .filter((e) => e.checkVisibility() && !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length))
    .map((e) => e.outerHTML.slice(0, 100)));
  assert.deepStrictEqual(nameless, []);
  await page.evaluate(() => document.activeElement.blur());
  const seen = new Set();
  for (let i = 0; i < 14; i++) {
    await page.keyboard.press("Tab");
    seen.add(await focused(page));
    assert(await page.evaluate(() => document.activeElement === document.body ||
      document.activeElement.matches(":focus-visible")), `focus is seen: ${[...seen].pop()}`);
  }
  assert([...seen].some((s) => s.includes("tab-")), [...seen].join("\n"));
  assert([...seen].some((s) => s.includes("theme")), [...seen].join("\n"));
}

async function frame(page) {
  await page.keyboard.press("?");
  assert(await page.locator("#keys").evaluate((d) => d.open));
  await page.keyboard.press("Escape");
  assert(!(await page.locator("#keys").evaluate((d) => d.open)));
  const before = await page.evaluate("getComputedStyle(document.body).backgroundColor");
  await page.keyboard.press("t");
  await page.keyboard.press("t");
  const dark = await page.evaluate("getComputedStyle(document.body).backgroundColor");
  await page.keyboard.press("t");
  assert.strictEqual(await page.evaluate("getComputedStyle(document.body).backgroundColor"), before);
  assert.strictEqual(dark, "rgb(20, 23, 27)", "the theme is chosen by its key");
}

// Colours of texts against what is behind them: at least 4.5 to 1 (WCAG AA).
async function contrast(page) {
  const poor = await page.evaluate(() => {
    const parse = (c) => {
      const [r, g, b, a = 1] = c.match(/[\d.]+/g).map(Number);
      return { r, g, b, a };
    };
    const light = ({ r, g, b }) => {
      const f = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
    };
    const behind = (e) => {
      for (; e; e = e.parentElement) {
        const c = parse(getComputedStyle(e).backgroundColor);
        if (c.a === 1) return c;
      }
      return { r: 255, g: 255, b: 255 };
    };
    const out = [];
    for (const e of document.querySelectorAll("body *")) {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (!own || !e.checkVisibility() || e.closest(":disabled, .hidden, .skip")) continue;
      const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) out.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className} ${e.textContent.slice(0, 30)}`);
    }
    return out;
  });
  assert.deepStrictEqual(poor, [], page.url());
}

async function use(browser, size, store) {
  const damaged = store.endsWith("-damaged");
  const { viewport, colorScheme } = size;
  const page = await browser.newPage({ viewport, colorScheme, reducedMotion: "reduce" });
  const complaints = [];
  // An answer that says no is told on the console too; only those that the test provokes may.
  page.on("console", (message) => {
    if (!/status of (400|404|422)/.test(message.text())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) complaints.push(request.url());
  });
  const shot = (what) => page.screenshot({ path: path.join(directory, `explorer-${store}-${what}-${size.name}.png`) });
  await page.goto(`${url}#/${store}/overview`);
  await page.waitForSelector(".card.verdict strong");
  await settled(page);
  await shot("overview");
  await overview(page, damaged);
  await shot("distributions");
  await frame(page);
  await reach(page);
  const views = { 2: () => map(page, shot, damaged), 3: () => records(page, shot, store.split("-")[0]),
    4: () => findings(page, shot, damaged), 5: () => bytes(page, shot) };
  for (const [key, view] of Object.entries(views)) {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press(key);
    await page.waitForSelector(`[role="tab"]:nth-child(${key})[aria-selected="true"]`);
    await settled(page);
    await contrast(page);
    await view();
    await contrast(page);
  }
  // Tabs by arrow keys.
  await page.locator('[role="tab"][aria-selected="true"]').focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector('#tab-overview[aria-selected="true"]');
  assert.deepStrictEqual(complaints, [], store);
  await page.close();
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  let used = 0;
  for (const size of sizes) {
    for (const format of ["arena", "jss", "kladde", "tay"]) {
      for (const store of [format, `${format}-damaged`]) {
        try {
          await use(browser, size, store);
        } catch (error) {
          console.error(`${store}, ${size.name}:`);
          throw error;
        }
        used++;
      }
    }
  }
  await browser.close();
  console.log(`the explorer was used ${used} times, screenshots in ${directory}`);
}
main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
