// Light and dark: what the system says, unless the reader has chosen. Charts read their colours from
// the CSS custom properties, so base.css is the only place with colours.

import { useEffect, useState } from "./preact.js";

const dark = globalThis.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();
const ORDER = ["auto", "light", "dark"];

/** What the reader has chosen: "auto", "light" or "dark". */
export function chosenTheme() {
  return document.documentElement.dataset.theme ?? "auto";
}

/** The theme that is shown: "light" or "dark". */
export function currentTheme() {
  const chosen = chosenTheme();
  return chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
}

export function chooseTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("priorband-theme");
    else localStorage.setItem("priorband-theme", theme);
  } catch {
    // no storage: the choice lasts as long as the page
  }
  changed();
}

export function nextTheme() {
  return ORDER[(ORDER.indexOf(chosenTheme()) + 1) % ORDER.length];
}

function changed() {
  for (const listener of listeners) listener();
}
dark.addEventListener("change", changed);

/** The theme that is shown; the component is drawn again when it changes. */
export function useTheme() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return currentTheme();
}

/** A colour by the name of its custom property without the dashes, such as "accent". */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const ORIGINS = { uniform: "origin-uniform", prior: "origin-prior", incumbent: "origin-incumbent", queued: "origin-queued", imported: "origin-imported", mode: "series-4", model: "series-1", grid: "series-6" };
const MORE = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];

/** The name of the colour of an origin; the same origin has the same colour in every chart. */
export function originColorName(origin) {
  if (ORIGINS[origin]) return ORIGINS[origin];
  let sum = 0;
  for (const character of origin) sum = (sum * 31 + character.codePointAt(0)) % 9973;
  return MORE[sum % MORE.length];
}

/** The name of the colour of a status. */
export function statusColorName(status) {
  return `status-${status}`;
}
