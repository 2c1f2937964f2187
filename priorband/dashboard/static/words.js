// Words that have a colour, always with the word itself.

import { html } from "./preact.js";
import { visible } from "./format.js";
import { originColorName } from "./theme.js";

export function Status({ word }) {
  return html`<span class=${`status status-${word}`}><i aria-hidden="true"></i>${word}</span>`;
}

export function Origin({ word }) {
  return html`<span class="origin"><i aria-hidden="true" data-color=${originColorName(word)}></i><bdi>${visible(word)}</bdi></span>`;
}
