// A trial of a report whose details are not in the file: what the table of trials says of it.

export class FrozenError extends Error {}

const NOT_HERE = "This report has the details of some trials only. Open the study in the dashboard, or use priorband why.";

/** What the page of a trial shows, from the table alone. */
export function trialFromTable({ summary, problem }, table, number) {
  if (!Number.isInteger(number) || number < 0 || number >= table.rows) throw new FrozenError(`There is no trial ${number} in this report.`);
  const cell = (name) => table.cell(name, number);
  const config = Object.fromEntries(table.group("config").map((one) => [one.label, table.cell(one.name, number)]).filter(([, value]) => value !== null));
  const metrics = Object.fromEntries(table.group("metric").map((one) => [one.label, table.cell(one.name, number)]).filter(([, value]) => value !== null));
  const parents = table.data("parent");
  const children = cell("promoted") === 1 ? [parents.indexOf(number)].filter((one) => one >= 0) : [];
  const failure = cell("failure") && { kind: cell("failure"), reason: cell("reason") ?? "", advice: "", traceback: "" };
  const outcome = cell("outcome") ?? cell("status");
  return {
    study: summary.where, trial: number, status: cell("status"), value: cell("value"),
    direction: problem.maximize ? "maximize" : "minimize",
    fidelity: { name: problem.fidelity.name, value: cell("fidelity"), full: problem.fidelity.high },
    rung: cell("rung"), bracket: cell("bracket"), place: null, of: null, origin: cell("origin"),
    parent: cell("parent"), root: cell("root"), children, config, prior: problem.prior, inactive: [],
    attempts: [], curve: [], metrics, checkpoint: null, logs: [], remarks: [], failure, files: [],
    why: { outcome, sentence: NOT_HERE }, why_text: "", lineage: null,
  };
}
