// A button that changes the study, and says what came of it.

import { html, useState } from "./preact.js";
import { announce } from "./announce.js";
import { useSource, useStudy } from "./store.js";

/** Send a change; returns [send, busy, error]. */
export function useEdit() {
  const source = useSource();
  const { id } = useStudy();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const send = async (what, body, done) => {
    setBusy(true);
    setError(null);
    try {
      await source.send(id, what, body);
      if (done) announce(done);
      return true;
    } catch (reason) {
      setError(reason.message);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return [send, busy, error];
}

export function EditButton({ what, body, done, confirm = null, children }) {
  const [send, busy, error] = useEdit();
  const [sure, setSure] = useState(false);
  const click = async () => {
    if (confirm && !sure) {
      setSure(true);
      announce(confirm);
      return;
    }
    setSure(false);
    await send(what, body, done);
  };
  return html`
    ${sure && html`<span class="soft">${confirm}</span> <button onClick=${() => setSure(false)}>Cancel</button>`}
    <button class=${sure ? "primary" : ""} disabled=${busy} onClick=${click}>${children}</button>
    ${error && html`<span class="bad" role="alert">${error}</span>`}`;
}
