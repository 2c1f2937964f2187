// Ranges of axes, and their ticks where we draw axes ourselves.

/** The lowest and the highest finite number; null if there is none. */
export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? null : [low, high];
}

/** A range with some room at both ends. A logarithmic one needs positive numbers. */
export function roomy(range, log = false, room = 0.04) {
  if (range === null) return log ? [0.1, 1] : [0, 1];
  let [low, high] = range;
  if (log && low > 0) {
    if (low === high) return [low / 2, high * 2];
    const factor = (high / low) ** room;
    return [low / factor, high * factor];
  }
  if (low === high) {
    const half = Math.abs(low) * 0.1 || 0.5;
    return [low - half, high + half];
  }
  return [low - (high - low) * room, high + (high - low) * room];
}

/**
 * The range of values that is worth looking at: a few that are far worse than all others would
 * flatten the rest. `worst` is the side of the bad values, "high" or "low".
 */
export function robustExtent(values, worst, share = 0.97) {
  const finite = Float64Array.from(values).filter(Number.isFinite).sort();
  if (finite.length === 0) return null;
  const all = [finite[0], finite.at(-1)];
  if (finite.length < 20) return all;
  const at = (part) => finite[Math.min(finite.length - 1, Math.max(0, Math.round(part * (finite.length - 1))))];
  const kept = worst === "high" ? [all[0], at(share)] : [at(1 - share), all[1]];
  const wide = all[1] - all[0] > 1.6 * (kept[1] - kept[0]);
  return wide ? kept : all;
}

/** Round numbers that divide a range into about `count` parts. */
export function ticks([low, high], count = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

/** Powers of ten within a range, or 1, 2 and 5 times those if they are few. */
export function logTicks([low, high], count = 5) {
  const found = [];
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const every = Math.max(1, Math.ceil((last - first) / count));
  const factors = last - first <= 2 ? [1, 2, 5] : [1];
  for (let power = first; power <= last; power += every) {
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(12));
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) found.push(tick);
    }
  }
  return found.length ? found : [low, high];
}

/** Positions moved apart so that each is at least `gap` from the next, within [low, high]. */
export function spreadApart(positions, gap, low, high) {
  const order = positions.map((at, i) => [at, i]).sort((a, b) => a[0] - b[0]);
  const placed = [];
  for (const [at] of order) placed.push(Math.max(at, placed.length ? placed.at(-1) + gap : low));
  for (let i = placed.length - 1; i >= 0; i--) {
    placed[i] = Math.min(placed[i], i === placed.length - 1 ? high : placed[i + 1] - gap);
  }
  const found = [];
  order.forEach(([, i], place) => (found[i] = placed[place]));
  return found;
}
