// A dialog that is closed by Escape, by its button, or by a click beside it.

import { html, useEffect, useRef } from "./preact.js";

export function Dialog({ title, onClose, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`
    <dialog ref=${dialog} class="dialog" aria-labelledby="dialog-title" onClose=${onClose}
            onMouseDown=${(event) => event.target === dialog.current && dialog.current.close()}>
      <div class="dialog-head">
        <h1 id="dialog-title">${title}</h1>
        <button class="quiet" onClick=${() => dialog.current.close()}>Close</button>
      </div>
      ${children}
    </dialog>`;
}
