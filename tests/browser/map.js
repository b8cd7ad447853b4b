// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the pages of `varve map --html` as a person would: looks, follows a finding, hovers, zooms.
//   node map.js CHROMIUM DIRECTORY
"use strict";
const assert = require("assert");
const path = require("path");
const { chromium } = require("playwright-core");
const [executablePath, directory] = process.argv.slice(2);

async function use(page, name, scheme) {
  const shot = (what) => page.screenshot({ path: path.join(directory, `${name}-${scheme}${what}.png`) });
  await page.goto("file://" + path.resolve(directory, `${name}.html`));
  const damaged = name.endsWith("-damaged");
  assert.strictEqual(await page.textContent(".verdict"), damaged ? "damaged" : "clean");
  const units = await page.locator(".unit").count();
  assert(units >= 10, `${name}: ${units} units`);
  const width = await page.evaluate("document.documentElement.scrollWidth");
  assert(width <= page.viewportSize().width, `${name}: ${width} pixels wide`);
  await shot("");

  const findings = page.locator("aside .finding.error");
  assert.strictEqual((await findings.count()) > 0, damaged, `${name}: findings at first sight`);
  if (damaged) {
    await findings.first().click();
    assert.strictEqual(await page.locator(".unit.on").count(), 1);
    assert.match(await page.locator(".unit.on").getAttribute("aria-label"), /, hurt$/);
    assert.match(await page.textContent("aside"), /varve explain/);
    assert((await page.locator("aside .finding").count()) > 0);
    await shot("-finding");
  }
  // The keyboard does what a click does.
  await page.locator(".unit").nth(1).focus();
  await page.keyboard.press("Enter");
  assert.match(await page.textContent("aside"), /offset/);
  const bar = await page.locator(".bar").first().boundingBox();
  await page.mouse.move(bar.x + bar.width / 2, bar.y + bar.height / 2);
  assert(await page.locator("#tip").isVisible());
  assert.match(await page.textContent("#tip"), /bytes/);

  await page.click("#in");
  const after = (await page.locator(".bar").first().boundingBox()).width;
  assert(after > 1.9 * bar.width, `${name}: zoom from ${bar.width} to ${after}`);
  assert.strictEqual(await page.locator(".unit.on").count(), 1, "what is chosen stays chosen");
  await page.click("#one");
}

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  let pages = 0;
  for (const format of ["arena", "jss", "kladde", "tay"]) {
    for (const state of ["clean", "damaged"]) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme });
        const complaints = [];
        page.on("console", (message) => complaints.push(message.text()));
        page.on("pageerror", (error) => complaints.push(error.message));
        page.on("request", (request) => {
          if (!request.url().startsWith("file://")) complaints.push(request.url());
        });
        await use(page, `${format}-${state}`, colorScheme);
        assert.deepStrictEqual(complaints, []);
        await page.close();
        pages++;
      }
    }
  }
  const narrow = await browser.newPage({ viewport: { width: 390, height: 844 } });
  await use(narrow, "tay-damaged", "narrow");
  await browser.close();
  console.log(`${pages + 1} pages used, screenshots in ${directory}`);
}
main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
