// Notes that people keep in the study.

import { html } from "../preact.js";
import { NoteList } from "../note-list.js";

export const notes = { id: "notes", title: "Notes", key: "n", component: Notes, noFilter: true };

function Notes() {
  return html`<div class="narrow"><h1 class="visually-hidden">Notes</h1><${NoteList} /></div>`;
}
