// Notes about the study or about one trial, with a field to write another.

import { html, useEffect, useState } from "./preact.js";
import { useEdit, EditButton } from "./edit-button.js";
import { useSource, useStudy } from "./store.js";
import { moment, visible } from "./format.js";

const LONGEST = 20000;

/** The notes of one trial, or all notes of the study if `trial` is null. */
export function NoteList({ trial = null }) {
  const study = useStudy();
  const source = useSource();
  const [notes, setNotes] = useState(null);
  const [error, setError] = useState(null);
  const [count, setCount] = useState(0);
  useEffect(() => {
    let current = true;
    source.notes(study.id).then((found) => current && setNotes(found), (reason) => current && setError(reason.message));
    return () => {
      current = false;
    };
  }, [source, study.id, study.summary, count]);
  const shown = (notes ?? []).filter((one) => trial === null || one.trial === trial);
  return html`
    ${error && html`<p class="error" role="alert">${visible(error)}</p>`}
    ${notes && shown.length === 0 && html`<p class="soft">There are no notes${trial === null ? " yet" : " about this trial"}.</p>`}
    <ol class="notes">
      ${shown.map((note) => html`
        <li key=${note.number}>
          <div class="note-head soft">
            <span>${moment(note.at)}</span>
            <span><bdi>${visible(note.writer.split("-").slice(0, -2).join("-") || note.writer)}</bdi></span>
            ${trial === null && note.trial !== null && html`<a href=${study.hashOfTrial(note.trial)}>Trial ${note.trial}</a>`}
            <span class="space"></span>
            ${source.canEdit && html`<${EditButton} what="remove-note" body=${{ number: note.number }} confirm="Remove this note?" done="The note was removed.">Remove<//>`}
          </div>
          <p class="note-text"><bdi>${note.text}</bdi></p>
        </li>`)}
    </ol>
    ${source.canEdit
      ? html`<${NewNote} trial=${trial} onAdded=${() => setCount(count + 1)} />`
      : source.live && html`<p class="faint">Start the dashboard with --allow-edit to write notes.</p>`}`;
}

function NewNote({ trial, onAdded }) {
  const [send, busy, error] = useEdit();
  const [text, setText] = useState("");
  const add = async (event) => {
    event.preventDefault();
    if (await send("note", trial === null ? { text } : { text, trial }, "The note was kept.")) {
      setText("");
      onAdded();
    }
  };
  const field = trial === null ? "note" : `note-${trial}`;
  return html`
    <form class="new-note" onSubmit=${add}>
      <label class="visually-hidden" for=${field}>New note</label>
      <textarea id=${field} rows="3" maxlength=${LONGEST} placeholder="A note, kept in the study" value=${text}
                onInput=${(event) => setText(event.target.value)}></textarea>
      <button class="primary" type="submit" disabled=${busy || text.trim() === ""}>Add note</button>
      ${error && html`<span class="bad" role="alert">${error}</span>`}
    </form>`;
}
