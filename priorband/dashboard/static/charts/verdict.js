// What the results say about a belief.

import { html } from "../preact.js";

const SIGNS = { helps: "▲", harms: "▼", neutral: "●", "not enough evidence": "…", "no belief": "–" };

/** A verdict in words, with a sign and a colour. */
export function Verdict({ word }) {
  return html`<span class=${`verdict verdict-${word.replaceAll(" ", "-")}`}><i aria-hidden="true">${SIGNS[word] ?? ""}</i>${word}</span>`;
}
