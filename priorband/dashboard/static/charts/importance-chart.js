// Importance of parameters, with intervals.

import { html } from "../preact.js";
import { useStudy } from "../store.js";
import { number, percent, visible, whole } from "../format.js";
import { Select } from "./choice.js";
import { IntervalRows } from "./interval-rows.js";
import { unready, useFiltered } from "./use-filtered.js";

export function ImportanceChart() {
  const { params, setParams, problem } = useStudy();
  const { rungs, name } = problem.fidelity;
  const chosen = params.rung ?? "";
  const found = useFiltered("importance", chosen === "" ? {} : { rung: chosen });
  const { data } = found;
  const order = data ? data.names.map((_, i) => i).sort((a, b) => (data.importance[b] ?? 0) - (data.importance[a] ?? 0)) : [];
  const items = order.map((i) => item(data, i));
  const highest = Math.max(0.1, ...items.map((one) => one.upper ?? 0));
  return html`
    <${IntervalRows} title="Importance of parameters" summary=${`${data ? message(data, visible(name)) : ""}${found.note}`} items=${items} range=${[0, Math.min(1, highest * 1.04)]} bars
        format=${percent} empty=${unready(found) ?? (data && !data.enough ? notEnough(data) : null)}
        tools=${html`<${Select} label=${`at ${visible(name)}`} value=${chosen} onChange=${(value) => setParams({ rung: value === "" ? null : value })}
            options=${[["", "highest with enough"], ...rungs.map((one, i) => [String(i), number(one)])]} />`}
        rows=${() => ({
          head: ["parameter", "importance", "from", "to", "divergence", "by chance at most", "clear", "configurations"],
          rows: order.map((i) => [data.names[i], data.importance[i], data.lower[i], data.upper[i], data.divergence[i], data.chance[i], data.clear[i] ? "yes" : "no", data.count[i]]),
        })} />`;
}

function item(data, i) {
  const name = visible(data.names[i]);
  const share = data.importance[i];
  return {
    name, value: share, lower: data.lower[i], upper: data.upper[i], clear: data.clear[i],
    shown: share === null ? "" : `${percent(share)}${data.clear[i] ? "" : " unclear"}`,
    note: "not enough evidence",
    text: share === null
      ? `${name}: not enough evidence`
      : `${name}: ${percent(share)}, from ${percent(data.lower[i] ?? 0)} to ${percent(data.upper[i] ?? 0)}; ${data.clear[i] ? "more than chance" : "may be chance"}; ${whole(data.count[i])} configurations`,
  };
}

function notEnough(data) {
  return `Not enough evidence: a rung with ${data.least} configurations is needed, the most so far are ${data.used}.`;
}

function message(data, name) {
  if (!data.enough) return "";
  const clear = data.names.filter((_, i) => data.clear[i]).length;
  const model = data.model_share > 0.2 ? ` ${percent(data.model_share)} of the best were proposed by a model, so parameters that only came along may look important.` : "";
  return `${data.method} at ${name} ${number(data.fidelity)}: the best ${data.best} of ${whole(data.used)} configurations, ${percent(data.level)} intervals. ${clear} of ${data.names.length} are more than chance.${model}`;
}
