// The state of the page: the list of studies, and the study that is shown with its table of trials.

import { createContext, useContext, useEffect, useMemo, useRef, useState } from "./preact.js";
import { FilterError, filteredRows } from "./filter.js";

export const SourceContext = createContext(null);
export const StudyContext = createContext(null);

/** The source of data. */
export function useSource() {
  return useContext(SourceContext);
}

/** What a view needs of the study that is shown; see README.md. */
export function useStudy() {
  return useContext(StudyContext);
}

/** The summaries of all studies, followed live: { studies, state, error }. */
export function useStudies() {
  const source = useSource();
  const [studies, setStudies] = useState(null);
  const [state, setState] = useState("opening");
  const [error, setError] = useState(null);
  useEffect(() => {
    let current = true;
    source.studies().then((all) => current && setStudies(all), (reason) => current && setError(reason.message));
    const stop = source.follow(
      null,
      (one) => setStudies((all) => replaced(all ?? [], one)),
      setState,
    );
    return () => {
      current = false;
      stop();
    };
  }, [source]);
  return { studies, state, error };
}

function replaced(all, one) {
  return all.some((other) => other.id === one.id)
    ? all.map((other) => (other.id === one.id ? one : other))
    : [...all, one];
}

/** A study, followed live: { summary, problem, table, state, error }. */
export function useLiveStudy(id) {
  const source = useSource();
  const [study, setStudy] = useState({ id, summary: null, problem: null, table: null, error: null });
  const [state, setState] = useState("opening");
  const latest = useRef(null);
  useEffect(() => {
    let current = true;
    let busy = false;
    let wanted = false;
    latest.current = null;
    setStudy({ id, summary: null, problem: null, table: null, error: null });
    const fail = (error) => current && setStudy((old) => ({ ...old, error: error.message }));
    const fetchTrials = async () => {
      wanted = true;
      if (busy) return;
      busy = true;
      try {
        while (wanted && current) {
          wanted = false;
          const table = await source.trials(id, latest.current);
          if (!current) return;
          if (table.version !== latest.current?.version) {
            latest.current = table;
            setStudy((old) => ({ ...old, table, error: null }));
          }
        }
      } catch (error) {
        fail(error);
      } finally {
        busy = false;
      }
    };
    let changes = null;
    const fetchStudy = () =>
      source.study(id).then((one) => {
        if (!current) return;
        const { problem, ...summary } = one;
        changes = summary.prior_changes;
        setStudy((old) => ({ ...old, summary, problem }));
      }, fail);
    fetchStudy();
    fetchTrials();
    const stop = source.follow(
      id,
      (summary) => {
        setStudy((old) => ({ ...old, summary: { ...old.summary, ...summary } }));
        if (changes !== null && summary.prior_changes !== changes) fetchStudy();
        if (String(summary.version) !== latest.current?.version?.split(":")[1]) fetchTrials();
      },
      setState,
    );
    return () => {
      current = false;
      stop();
    };
  }, [source, id]);
  return { ...study, state };
}

/**
 * The rows that a filter lets through: { rows, text, error, milliseconds }. The last good ones, and
 * the text of their filter, if it is wrong.
 */
export function useFilteredRows(table, text) {
  const last = useRef("");
  return useMemo(() => {
    if (table === null) return { rows: new Uint32Array(0), text: "", error: null, milliseconds: 0 };
    const began = performance.now();
    try {
      const rows = filteredRows(table, text);
      last.current = text;
      return { rows, text, error: null, milliseconds: performance.now() - began };
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      return { rows: filteredRows(table, last.current), text: last.current, error, milliseconds: 0 };
    }
  }, [table, text]);
}

/**
 * The result of an analysis of the study that is shown: { data, error, loading }.
 * With `columns`, data is { about, columns }: typed arrays instead of lists.
 */
export function useAnalysis(name, options = {}, columns = false) {
  const source = useSource();
  const { id, table } = useStudy();
  const [result, setResult] = useState({ data: null, error: null, loading: true });
  const key = JSON.stringify(options);
  useEffect(() => {
    let current = true;
    setResult((old) => ({ ...old, loading: true }));
    const wanted = columns ? source.analysisColumns(id, name, options) : source.analysis(id, name, options);
    wanted.then(
      (data) => current && setResult({ data, error: null, loading: false }),
      (error) => current && setResult({ data: null, error: error.message, loading: false }),
    );
    return () => {
      current = false;
    };
  }, [source, id, name, key, table?.version]);
  return result;
}
