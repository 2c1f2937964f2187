// The filter: a typed expression in the address, obeyed by every view.

import { html, useEffect, useRef, useState } from "./preact.js";
import { setParams } from "./location.js";
import { announce } from "./announce.js";
import { quotedName } from "./filter.js";
import { whole } from "./format.js";

const QUICK = [
  ["Running", "status = running"],
  ["Failed", "status = failed"],
  ["From the prior", "origin = prior"],
];
const PAUSE = 150; // milliseconds after the last key until the filter is applied

export function FilterBar({ table, text, filtered }) {
  const [typed, setTyped] = useState(text);
  const timer = useRef(0);
  const sent = useRef(text);
  useEffect(() => {
    if (text !== sent.current) {
      sent.current = text;
      setTyped(text);
    }
  }, [text]);
  const apply = (value) => {
    sent.current = value;
    setTyped(value);
    clearTimeout(timer.current);
    setParams({ filter: value || null });
  };
  const onInput = (event) => {
    const value = event.target.value;
    setTyped(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(value), PAUSE);
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter") apply(event.target.value);
    if (event.key === "Escape") event.target.blur();
  };
  const count = filtered.rows.length;
  useEffect(() => {
    if (text) announce(`${count} of ${table.rows} trials`);
  }, [text, count]);
  const names = [...table.columns.values()].map((column) => quotedName(table, column));
  return html`
    <div class="filter" role="search">
      <label for="filter">Filter</label>
      <div class="filter-field">
        <input id="filter" class="mono" type="text" spellcheck="false" autocomplete="off" autocapitalize="off"
               list="filter-names" placeholder="lr < 1e-3 and origin = prior" value=${typed}
               aria-invalid=${filtered.error ? "true" : null} aria-describedby="filter-state"
               onInput=${onInput} onKeyDown=${onKeyDown} />
        <datalist id="filter-names">${names.map((name) => html`<option value=${name} />`)}</datalist>
        ${typed && html`<button class="quiet icon clear" aria-label="Clear the filter" onClick=${() => apply("")}>×</button>`}
      </div>
      <span id="filter-state" class=${filtered.error ? "bad" : "soft"}>
        ${filtered.error
          ? `Not applied: ${filtered.error.message}`
          : text
            ? `${whole(count)} of ${whole(table.rows)} trials`
            : `${whole(table.rows)} trials`}
      </span>
      <span class="space"></span>
      <span class="quick">
        ${QUICK.map(([label, expression]) => html`
          <button class="chip" aria-pressed=${text === expression}
                  onClick=${() => apply(text === expression ? "" : expression)}>${label}</button>`)}
      </span>
    </div>`;
}
