// SPDX-License-Identifier: Apache-2.0
// Turns a chart of src/show/chart into an option that ECharts accepts, in the page and in the program (docs/charts.md).
//
// Only ES5, here and in the files beside it: Duktape runs them. A row of `dataset.source` has the columns panel, group,
// series, x, value, low, high, mark, style, text.
//   {"$colour": NAME}               the theme's colour
//   {"$fn": NAME, …}                a function of functions.js; the other keys are its arguments
//   series.$rows {panel, series}    the rows with these values become the data of the series
//   title.$panel                    the panel that the title stands above
//   axis.$categories {panel}        the groups of the rows with that panel, in order
//   axis.$range {columns, panels, series, scale: linear | log | auto | time | share, zero, include, count, each}
//     limits and ticks; `unit` is that of its values, for tooltips; `tight`: a logarithmic axis ends near the values,
//     not at a tick

import { setCategories, setRange } from './axes.js';
import { functionNames, withFunctions } from './functions.js';
import { rowsOf } from './rows.js';
import { FONT, isNumber } from './words.js';

function withColours(value, tokens) {
  if (Array.isArray(value))
    return value.map(function (item) {
      return withColours(item, tokens);
    });
  if (value === null || typeof value !== 'object') return value;
  if (value.$colour !== undefined) {
    var colour = tokens[value.$colour];
    if (colour === undefined) throw new Error('unknown colour ' + value.$colour);
    return colour;
  }
  var result = {};
  for (var key in value) result[key] = key === 'source' ? value[key] : withColours(value[key], tokens);
  return result;
}

function matches(row, wanted) {
  return row.panel === wanted.panel && (wanted.series === undefined || row.series === wanted.series);
}

function dataOf(series, rows) {
  if (series.type === 'line')
    return rows.map(function (row) {
      return [row.x, isNumber(row.value) ? row.value : null];
    });
  if (series.$by === 'cell')
    return rows.map(function (row) {
      return [row.series, row.group];
    });
  if (series.$by === 'point')
    return rows.map(function (row) {
      return [row.x, row.value];
    });
  return rows.map(function (row) {
    return [row.value, row.group];
  });
}

var UNIT = /(?:^|[ (,])(ms|s|MB|items\/s|tokens\/s)(?:$|[ ),])/;

// What a tooltip must know of a series. The unit is in the range of the axis that has the values, or in its name, or in
// the title of the panel: "latency (ms, lower is better)".
function shownBy(series, rows, result, ranges) {
  var draws = series.renderItem || {},
    x = series.xAxisIndex || 0,
    y = series.yAxisIndex || 0;
  var along = draws.across || series.$by === 'category',
    axis = along ? result.xAxis[x] : result.yAxis[y];
  var range = (along ? ranges.xAxis[x] : ranges.yAxis[y]) || {},
    unit = draws.unit || range.unit || '';
  var titles = (result.title || []).filter(function (title) {
    return title.$panel === x;
  });
  [axis && axis.name, titles.length ? titles[0].text : ''].forEach(function (words) {
    var found = UNIT.exec(words || '');
    if (!unit && found && series.$by !== 'cell') unit = found[1];
  });
  return {
    rows: rows,
    across: draws.across,
    percent: draws.percent,
    unit: unit,
    batch: result.xAxis[x].name === 'batch size',
    time: (ranges.xAxis[x] || {}).scale === 'time',
  };
}

/**
 * The option for ECharts. `tokens`: the theme's colours. `measure(text, font)`: the width of a text in pixels.
 * The option is not changed; call it again with other rows in `dataset.source` to draw them.
 */
function resolve(option, tokens, measure) {
  measure =
    measure ||
    function (words) {
      return words.length * 7;
    };
  var rows = rowsOf(option.dataset),
    result = withColours(option, tokens),
    all = [];
  var ranges = { xAxis: [], yAxis: [] };
  delete result.dataset;
  ['xAxis', 'yAxis'].forEach(function (name) {
    (result[name] || []).forEach(function (axis) {
      ranges[name].push(axis.$range);
      if (axis.$range) setRange(axis, rows);
      if (axis.$categories) setCategories(axis, rows);
      withFunctions(axis, { measure: measure });
    });
  });
  (result.series || []).forEach(function (series) {
    var own = series.$rows
      ? rows.filter(function (row) {
          return matches(row, series.$rows);
        })
      : [{}];
    var xAxis = result.xAxis[series.xAxisIndex || 0],
      yAxis = result.yAxis[series.yAxisIndex || 0];
    series.data = series.$rows ? dataOf(series, own) : [[xAxis.min, yAxis.data ? yAxis.data[0] : yAxis.min]];
    all.push(shownBy(series, own, result, ranges));
    var panel = series.$rows
      ? rows.filter(function (row) {
          return row.panel === series.$rows.panel;
        })
      : [];
    withFunctions(series, {
      rows: own,
      panel: panel,
      xAxis: xAxis,
      yAxis: yAxis,
      log: xAxis.type === 'log',
      logY: yAxis.type === 'log',
      measure: measure,
    });
    delete series.$rows;
    delete series.$by;
  });
  if (result.tooltip) withFunctions(result.tooltip, { all: all });
  result.animation = false;
  result.textStyle = result.textStyle || {};
  result.textStyle.fontFamily = FONT;
  return result;
}

// As sort() of an array, but equal items keep their order. That of Duktape takes random pivots, so that of two labels
// without room for both sometimes the one and sometimes the other was left out.
function stableSort(compare) {
  var order =
    compare ||
    function (a, b) {
      return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
    };
  var items = this.filter(function (item) {
      return item !== undefined;
    }),
    count = items.length;
  for (var width = 1; width < count; width *= 2) {
    var merged = [];
    for (var from = 0; from < count; from += 2 * width) {
      var middle = Math.min(from + width, count),
        to = Math.min(from + 2 * width, count),
        i = from,
        j = middle;
      while (i < middle || j < to)
        merged.push(j >= to || (i < middle && order(items[i], items[j]) <= 0) ? items[i++] : items[j++]);
    }
    items = merged;
  }
  for (var at = 0; at < this.length; at++) this[at] = items[at];
  return this;
}

/** The SVG document of an option, both as text. */
function render(init, setPlatformAPI, option, tokens, width, height, measure) {
  if (typeof Duktape !== 'undefined') Array.prototype.sort = stableSort;
  setPlatformAPI({
    measureText: function (words, font) {
      return { width: measure(words, font || '12px') };
    },
  });
  var chart = init(null, null, { renderer: 'svg', ssr: true, width: width, height: height });
  try {
    chart.setOption(resolve(JSON.parse(option), JSON.parse(tokens), measure));
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}

export { functionNames, render, resolve };
