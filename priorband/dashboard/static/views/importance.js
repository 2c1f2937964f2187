// Which parameters decide whether a configuration is good.

import { html } from "../preact.js";
import { ImportanceChart } from "../charts/importance-chart.js";

export const importance = { id: "importance", title: "Importance", key: "i", component: Importance };

function Importance() {
  return html`<div class="stack"><${ImportanceChart} /></div>`;
}
