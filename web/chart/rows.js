// SPDX-License-Identifier: Apache-2.0
// The rows of a chart: what columns, marks and styles mean, as in src/show/chart/picture.hpp.

var COLUMNS = ['panel', 'group', 'series', 'x', 'value', 'low', 'high', 'mark', 'style', 'text'];
var MARKS = [
  '',
  '≠ wrong',
  '✕ failed',
  '– unsupported',
  '∅ unavailable',
  '… skipped',
  '? unverified',
  '∅ no common cell',
  '· not measured',
];
var STYLE = { hollow: 1, hatched: 2, bold: 4, ringed: 8, unranked: 16 };
var OPEN = STYLE.hollow | STYLE.hatched | STYLE.unranked; // only an outline

function rowsOf(dataset) {
  var source = (dataset && dataset.source) || [];
  var rows = [];
  for (var i = 1; i < source.length; i++) {
    var row = {};
    for (var j = 0; j < COLUMNS.length; j++) row[COLUMNS[j]] = source[i][j];
    rows.push(row);
  }
  return rows;
}

export { COLUMNS, MARKS, OPEN, rowsOf, STYLE };
