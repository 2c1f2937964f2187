// Analyses of the trials that pass the filter.

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

/** What to say instead of a drawing: why there is none, or null. */
export function unready({ data, error, loading }) {
  if (error) return error;
  if (data === null) return loading ? "Computing…" : "There is nothing to show.";
  return null;
}
