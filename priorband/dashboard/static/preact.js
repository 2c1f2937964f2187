// The one place that names the vendored library.
export {
  html, render, Component, createContext, useCallback, useContext, useEffect, useErrorBoundary,
  useLayoutEffect, useMemo, useReducer, useRef, useState,
} from "./vendor/preact-htm.js";
