// Rung agreement: how well a lower rung predicts the order on a higher one, with intervals.

import { html } from "../preact.js";
import { useStudy } from "../store.js";
import { number, percent, visible } from "../format.js";
import { IntervalRows } from "./interval-rows.js";
import { unready, useFiltered } from "./use-filtered.js";

export function AgreementChart() {
  const { problem } = useStudy();
  const found = useFiltered("rung-agreement");
  const { data } = found;
  const name = visible(problem.fidelity.name);
  const items = data ? data.low.map((low, i) => item(data, i, low, name)) : [];
  return html`
    <${IntervalRows} title="Agreement of rungs" summary=${`${data ? message(data, name) : ""}${found.note}`} items=${items} range=${[-1, 1]}
        empty=${unready(found) ?? (items.length ? null : "There is one rung only.")}
        rows=${() => ({
          head: [`lower ${name}`, `higher ${name}`, "tau", "from", "to", "same order", "configurations", "kept"],
          rows: data.low.map((low, i) => [
            data.fidelities[low], data.fidelities[data.high[i]], data.tau[i], data.lower[i], data.upper[i],
            data.tau[i] === null ? null : (1 + data.tau[i]) / 2, data.count[i], data.kept[i],
          ]),
        })} />`;
}

function item(data, i, low, name) {
  const [from, to] = [number(data.fidelities[low]), number(data.fidelities[data.high[i]])];
  const tau = data.tau[i];
  const known = tau !== null;
  return {
    name: `${from} → ${to}`,
    value: tau, lower: data.lower[i], upper: data.upper[i],
    clear: known && data.lower[i] > 0,
    shown: known ? `${tau.toFixed(2)}  n ${data.count[i]}` : "",
    note: `${data.count[i]} of ${data.least} configurations`,
    text: known
      ? `${name} ${from} and ${to}: tau ${tau.toFixed(2)}, from ${data.lower[i].toFixed(2)} to ${data.upper[i].toFixed(2)}; ${percent((1 + tau) / 2)} of pairs keep their order; ${data.count[i]} configurations, ${percent(data.kept[i])} of the lower rung`
      : `${name} ${from} and ${to}: ${data.count[i]} configurations on both; ${data.least} are needed`,
  };
}

function message(data, name) {
  const neighbours = data.low.map((low, i) => i).filter((i) => data.high[i] === data.low[i] + 1 && data.tau[i] !== null);
  if (neighbours.length === 0) return `Not enough evidence: ${data.least} configurations with results on both rungs are needed.`;
  const weakest = neighbours.reduce((a, b) => (data.tau[b] < data.tau[a] ? b : a));
  const [from, to] = [data.low[weakest], data.high[weakest]].map((rung) => number(data.fidelities[rung]));
  return `Kendall's tau with ${percent(data.level)} intervals. Weakest step: ${name} ${from} to ${to}, where ${percent((1 + data.tau[weakest]) / 2)} of pairs keep their order.`;
}
