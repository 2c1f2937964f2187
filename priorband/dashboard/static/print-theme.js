// What is printed is light, whatever is on the screen.

import { chooseTheme, chosenTheme } from "./theme.js";

let before = null;

/** Switch to light colours while the page is printed. */
export function printInLight() {
  globalThis.addEventListener("beforeprint", () => {
    before = chosenTheme();
    chooseTheme("light");
  });
  globalThis.addEventListener("afterprint", () => {
    if (before !== null) chooseTheme(before);
    before = null;
  });
}
