// Where the page's data comes from: the dashboard's server. A report that is a single file has a
// source with the same methods that reads what is written in the file.

import { readColumns, Table } from "./columns.js";

export class RequestError extends Error {}

export class LiveSource {
  live = true;

  constructor() {
    this.session = null;
  }

  /** What the server is: { version, edit }. `edit` is null if the dashboard is read-only. */
  async open() {
    this.session = await this.#json("/api/session");
    return this.session;
  }

  get canEdit() {
    return Boolean(this.session?.edit);
  }

  studies() {
    return this.#json("/api/studies");
  }

  study(id) {
    return this.#json(`/api/studies/${encodeURIComponent(id)}`);
  }

  /** The table of trials; given the last one, only what has changed is fetched. */
  async trials(id, before = null) {
    const since = before ? `?since=${encodeURIComponent(before.version)}` : "";
    const buffer = await (await this.#get(`/api/studies/${encodeURIComponent(id)}/trials${since}`)).arrayBuffer();
    return before ? before.merged(buffer) : Table.from(buffer);
  }

  trial(id, number) {
    return this.#json(`/api/studies/${encodeURIComponent(id)}/trials/${number}`);
  }

  async log(id, number, attempt) {
    const answer = await this.#get(`/api/studies/${encodeURIComponent(id)}/trials/${number}/log?attempt=${attempt}`);
    return answer.text();
  }

  /** The result of an analysis: plain data, as priorband/dashboard/analyses.py names it. */
  async analysis(id, name, options = {}) {
    const query = new URLSearchParams(options).toString();
    const data = await this.#json(`/api/studies/${encodeURIComponent(id)}/analysis/${name}${query ? `?${query}` : ""}`);
    if (typeof data?.error === "string") throw new RequestError(data.error);
    return data;
  }

  /** The same as columns, for long results: { about, columns }, typed arrays by the field's name. */
  async analysisColumns(id, name, options = {}) {
    const query = new URLSearchParams({ ...options, form: "columns" }).toString();
    const answer = await this.#get(`/api/studies/${encodeURIComponent(id)}/analysis/${name}?${query}`);
    if (answer.headers.get("content-type") === "application/json") throw new RequestError((await answer.json()).error);
    return readColumns(await answer.arrayBuffer());
  }

  /** The best values of several studies over budget. */
  compare(ids) {
    return this.#json(`/api/compare?studies=${ids.map(encodeURIComponent).join(",")}`);
  }

  notes(id) {
    return this.#json(`/api/studies/${encodeURIComponent(id)}/notes`);
  }

  /** Change something: `what` is a name in priorband/dashboard/edits.py. */
  async send(id, what, body) {
    const answer = await fetch(`/api/studies/${encodeURIComponent(id)}/edit/${what}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-priorband-edit": this.session.edit ?? "" },
      body: JSON.stringify(body),
      credentials: "same-origin",
    });
    const data = await answer.json().catch(() => ({ error: answer.statusText }));
    if (!answer.ok) throw new RequestError(data.error ?? answer.statusText);
    return data;
  }

  /**
   * Follow one study, or all if `id` is null. `onStudy` gets each summary that has changed,
   * `onState` "live" or "lost". Nothing is followed while the page is hidden.
   */
  follow(id, onStudy, onState) {
    let events = null;
    const open = () => {
      events = new EventSource(`/api/events${id === null ? "" : `?study=${encodeURIComponent(id)}`}`);
      events.addEventListener("open", () => onState("live"));
      events.addEventListener("error", () => onState("lost"));
      events.addEventListener("study", (event) => onStudy(JSON.parse(event.data)));
    };
    const close = () => {
      events?.close();
      events = null;
    };
    const turn = () => (document.hidden ? close() : events ?? open());
    document.addEventListener("visibilitychange", turn);
    turn();
    return () => {
      document.removeEventListener("visibilitychange", turn);
      close();
    };
  }

  async #get(path) {
    let answer;
    try {
      answer = await fetch(path, { credentials: "same-origin" });
    } catch {
      throw new RequestError("The server does not answer. Is `priorband dashboard` still running?");
    }
    if (!answer.ok) {
      const data = await answer.json().catch(() => ({}));
      throw new RequestError(data.error ?? `The server answered ${answer.status}.`);
    }
    return answer;
  }

  async #json(path) {
    return (await this.#get(path)).json();
  }
}
