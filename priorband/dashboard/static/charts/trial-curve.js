// The learning curve of one trial: the points that its last attempt has reported.

import uPlot from "../vendor/uPlot.js";
import { html, useEffect, useRef } from "../preact.js";
import { ChartFrame } from "../chart-frame.js";
import { number, visible } from "../format.js";
import { color, useTheme } from "../theme.js";

const HEIGHT = 200;

export function TrialCurve({ details }) {
  const points = details.curve.filter(([, value]) => typeof value === "number");
  const steps = points.map(([step]) => step);
  const values = points.map(([, value]) => value);
  const name = details.fidelity.name;
  const theme = useTheme();
  const target = useRef(null);
  const plot = useRef(null);
  useEffect(() => {
    if (!target.current || points.length === 0) return undefined;
    const axis = { stroke: color("axis"), grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("grid"), width: 1 }, font: "12px system-ui" };
    plot.current = new uPlot(
      {
        width: target.current.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: { x: { time: false } },
        axes: [axis, { ...axis, size: 56, values: (_, ticks) => ticks.map((one) => number(one, 3)) }],
        series: [{}, { stroke: color("accent"), width: 1.5, points: { show: points.length < 60, size: 5, fill: color("accent") } }],
      },
      [steps, values],
      target.current,
    );
    const size = new ResizeObserver(() => plot.current?.setSize({ width: target.current.clientWidth, height: HEIGHT }));
    size.observe(target.current);
    return () => {
      size.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [theme, JSON.stringify(details.curve)]);
  if (points.length === 0) return null;
  const mark = (at) => {
    const shown = plot.current;
    if (!shown) return;
    if (at === null) shown.setCursor({ left: -10, top: -10 });
    else shown.setCursor({ left: shown.valToPos(steps[at], "x"), top: shown.valToPos(values[at], "y") });
  };
  return html`
    <${ChartFrame} title="Learning curve" summary=${`${points.length} points; last value ${number(values.at(-1))} at ${visible(name)} ${number(steps.at(-1))}.`}
      count=${points.length} cursor=${mark}
      describe=${(i) => `${visible(name)} ${number(steps[i])}, value ${number(values[i])}`}
      rows=${() => ({ head: [name, "value"], rows: points })}>
      <div ref=${target} aria-hidden="true"></div>
    <//>`;
}
