// Keyboard shortcuts of the page: one registry, which `?` lists. Single letters work unless the
// reader is typing.

import { useEffect } from "./preact.js";

const registered = [];

/** Shortcuts as long as a component is shown: [{ key, label, group, run }]. */
export function useKeys(keys, dependencies = []) {
  useEffect(() => {
    registered.push(keys);
    return () => registered.splice(registered.indexOf(keys), 1);
  }, dependencies);
}

/** All shortcuts that work now, those of the innermost component first. */
export function currentKeys() {
  return registered.toReversed().flat();
}

export function isTyping(target) {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}

let prefix = "";
let prefixAt = 0;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const recent = event.timeStamp - prefixAt < 1500 ? prefix : "";
  const pressed = recent ? `${recent} ${event.key}` : event.key;
  prefix = "";
  const found = currentKeys().find((one) => one.key === pressed);
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (event.key === "g") {
    prefix = "g";
    prefixAt = event.timeStamp;
  }
});
