// Rungs: how trials went up, by origin, and how far a lower rung can be trusted.

import { html } from "../preact.js";
import { RungFlowChart } from "../charts/rung-flow-chart.js";
import { AgreementChart } from "../charts/agreement-chart.js";

export const rungs = { id: "rungs", title: "Rungs", key: "r", component: Rungs };

function Rungs() {
  return html`<div class="stack"><${RungFlowChart} height=${340} /><${AgreementChart} /></div>`;
}
