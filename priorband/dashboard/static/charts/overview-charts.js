// The charts that the overview shows, in order. Each is a component that reads useStudy().

export const OVERVIEW_CHARTS = [];
