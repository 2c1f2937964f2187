// Notes that people keep in the study.

import { html } from "../preact.js";

export const notes = { id: "notes", title: "Notes", key: "n", component: Notes, noFilter: true };

function Notes() {
  return html`<p class="soft">There are no notes yet.</p>`;
}
