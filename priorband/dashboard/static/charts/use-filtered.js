// Analyses of the trials that pass the filter.

import { useMemo } from "../preact.js";
import { useAnalysis, useSource, useStudy } from "../store.js";

/**
 * The result of an analysis of the trials that pass the filter: { data, error, loading, note }. A
 * report has results of all trials only; `note` says so while there is a filter.
 */
export function useFiltered(name, options = {}) {
  const source = useSource();
  const { filter } = useStudy();
  const given = source.live && filter ? { ...options, filter } : options;
  const note = !source.live && filter ? " Of all trials: in a report, the filter does not change this." : "";
  return { ...useAnalysis(name, given), note };
}

/** A result that follows from the whole study, whatever the filter; `note` says so. */
export function useWhole(name) {
  const { filter } = useStudy();
  return { ...useAnalysis(name), note: filter ? " Of all trials: the filter does not change this." : "" };
}

/** Which trials pass the filter, as a list of 0 and 1; null if all do. */
export function usePasses() {
  const { rows, table } = useStudy();
  return useMemo(() => {
    if (rows.length === table.rows) return null;
    const mask = new Uint8Array(table.rows);
    for (const row of rows) mask[row] = 1;
    return mask;
  }, [rows, table]);
}

/** A long result of all trials, its lists as typed arrays: { data, error, loading }. */
export function useColumns(name, options = {}) {
  const found = useAnalysis(name, options, true);
  const data = useMemo(() => (found.data === null ? null : flattened(found.data)), [found.data]);
  return { ...found, data };
}

function flattened({ about, columns }) {
  return { ...about, ...Object.fromEntries([...columns].map(([name, column]) => [name, column.data])) };
}

/** What to say instead of a drawing: why there is none, or null. */
export function unready({ data, error, loading }) {
  if (error) return error;
  if (data === null) return loading ? "Computing…" : "There is nothing to show.";
  return null;
}
