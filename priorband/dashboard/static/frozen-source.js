// The source of data of a report: what is written in the file. It has the methods of LiveSource.

import { Table } from "./columns.js";
import { FrozenError, trialFromTable } from "./frozen-trial.js";

export class FrozenSource {
  live = false;
  canEdit = false;

  /** `data` is what priorband/dashboard/report_data.py writes. */
  constructor(data) {
    this.data = data;
    this.session = { version: data.version, edit: null };
    this.single = data.studies.length === 1 ? data.studies[0].summary.id : null;
    this.tables = new Map();
  }

  async open() {
    return this.session;
  }

  async studies() {
    return this.data.studies.map((one) => one.summary);
  }

  async study(id) {
    const found = this.#find(id);
    return { ...found.summary, problem: found.problem };
  }

  async trials(id) {
    if (!this.tables.has(id)) this.tables.set(id, unpacked(this.#find(id).table).then((buffer) => Table.from(buffer)));
    return this.tables.get(id);
  }

  async trial(id, number) {
    const found = this.#find(id);
    return found.trials[number] ?? trialFromTable(found, await this.trials(id), number);
  }

  async log() {
    return "";
  }

  async analysis(id, name, options = {}) {
    const found = this.#find(id).analyses[name];
    if (found === undefined) throw new FrozenError("A report does not have this. Open the study in the dashboard.");
    const { filter, ...others } = options;
    const key = Object.entries(others).map(([option, value]) => `${option}=${value}`).join("&");
    const own = found[key];
    if (own === undefined) throw new FrozenError("A report does not have this choice. Open the study in the dashboard.");
    if (own.error) throw new FrozenError(own.error);
    return own.result;
  }

  /** The same with typed arrays instead of lists of numbers. */
  async analysisColumns(id, name, options = {}) {
    const about = {};
    const columns = new Map();
    for (const [field, value] of Object.entries(await this.analysis(id, name, options))) {
      if (Array.isArray(value) && value.every((one) => one === null || typeof one === "number" || typeof one === "boolean")) {
        columns.set(field, { name: field, data: Float64Array.from(value, (one) => (one === null ? NaN : Number(one))) });
      } else about[field] = value;
    }
    return { about, columns };
  }

  async compare(ids) {
    const { compared } = this.data;
    if (compared.error) throw new FrozenError(compared.error);
    const { result } = compared;
    const at = ids.map((id) => this.data.studies.findIndex((one) => one.summary.id === id)).filter((i) => i >= 0);
    const chosen = (list) => at.map((i) => list[i]);
    return {
      ...result, names: chosen(result.names), where: chosen(result.where), any_fidelity: chosen(result.any_fidelity),
      full: chosen(result.full), last_spent: chosen(result.last_spent), fidelities: chosen(result.fidelities),
    };
  }

  async notes(id) {
    return this.#find(id).notes;
  }

  async send() {
    throw new FrozenError("A report cannot be changed.");
  }

  follow() {
    return () => {};
  }

  #find(id) {
    const found = this.data.studies.find((one) => one.summary.id === id);
    if (!found) throw new FrozenError("There is no such study in this report.");
    return found;
  }
}

/** Bytes from base64 of gzip. */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
