// Order of search results: guides first, then reference and figures, then decisions and the project's own pages.
const LOOK_UP = /^(api|python|http|commands|options|settings|glossary|benchmarks|.*-figures|.*-reference)$/;
const INSIDE = /^(decisions\/.*|internals|changelog|contributing|reporting)$/;
var Scorer = {
  score: ([page, , , , score]) => score - (INSIDE.test(page) ? 2000 : LOOK_UP.test(page) ? 1000 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
