// A bar with the share of the budget that is used.

import { html } from "./preact.js";
import { percent } from "./format.js";

export function Progress({ share, over = false, running = 0 }) {
  const text = over ? "done" : percent(share);
  return html`
    <span class="progress">
      <progress class=${running ? "active" : ""} max="1" value=${share} aria-label="Share of the budget that is used">${text}</progress>
      <span>${text}</span>
    </span>`;
}
