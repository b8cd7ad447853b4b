// SPDX-License-Identifier: MIT OR Apache-2.0
// Asking the server. An answer that is not ready is asked for again; a view that is left gives up.
import { byId } from "./explorer-dom.js";

const wait = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => {
    clearTimeout(timer);
    reject(signal.reason);
  }, { once: true });
});

const titles = { 400: "That cannot be asked. ", 404: "There is no such thing. ",
  422: "The store does not allow it. ", 500: "The system refused. ", 503: "Too busy. " };

let busy = 0;
function count(step) {
  busy += step;
  byId("progress").hidden = busy === 0;
}

// The document under a path. Throws { title, message, status } where there is none.
export async function ask(path, parameters = {}, { signal, method = "GET" } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") query.append(name, one);
      else if (one === "" && name === "file") query.append(name, "");
    }
  }
  const url = path + (query.size ? `?${query}` : "");
  let shown = false;
  const slow = setTimeout(() => { shown = true; count(1); }, 150);
  try {
    for (let again = 40; ; again = Math.min(400, again * 1.5)) {
      let response;
      try {
        response = await fetch(url, { method, signal, headers: { Accept: "application/json" } });
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        throw { title: "The server does not answer. ", message: "Is varve serve still running?" };
      }
      const json = await response.json();
      if (response.status === 200) return json;
      if (response.status !== 202) {
        throw { title: titles[response.status], message: json.message, status: response.status,
          code: json.code };
      }
      if (json.check?.needs_asking) {
        throw { title: "The store has not been checked. ", message: "It is large, so reading all of it " +
          "is begun only on request: “Check every byte” on the overview." };
      }
      await wait(again, signal);
    }
  } finally {
    clearTimeout(slow);
    if (shown) count(-1);
  }
}

export const apiOf = (store) => ({
  path: store.path,
  format: store.format,
  id: store.id,
  ask: (what, parameters, options) =>
    ask(`/api/${encodeURIComponent(store.id)}/${what}`, parameters, options),
});
