// SPDX-License-Identifier: Apache-2.0
// All functions that options name: those that draw, and those that make words.

import { inCategories } from './in_categories.js';
import { inPlanes } from './in_planes.js';
import { MARKS, STYLE } from './rows.js';
import { cutTo, formatNumber, formatTick, formatTime, isNumber, nameLines, THIN } from './words.js';

// The series of rows that have no name of their own.
var INTERNAL = ['points', 'percentiles', 'bins'];

var functions = {
  // What a row is of, its value with unit and interval, and what its mark means.
  tooltip: function (_args, owner) {
    return function (params) {
      var shown = owner.all[params.seriesIndex],
        row = shown && shown.rows[params.dataIndex];
      if (!row) return '';
      var words = [row.group, INTERNAL.indexOf(row.series) < 0 ? row.series : '']
        .filter(function (word) {
          return word;
        })
        .join(', ');
      if (shown.time && isNumber(row.x)) words += '\n' + formatTime(row.x, true);
      if (shown.batch && isNumber(row.x)) words += '\nbatch ' + formatTick(row.x);
      var value = shown.across ? row.x : row.value;
      function number(of) {
        return formatNumber(shown.percent ? 100 * of : of);
      }
      if (isNumber(value)) {
        words +=
          '\n' +
          number(value) +
          (shown.percent ? THIN + '%' : shown.unit === '×' ? '×' : shown.unit ? ' ' + shown.unit : '');
        if (isNumber(row.low) && isNumber(row.high)) words += ' (' + number(row.low) + ' to ' + number(row.high) + ')';
      } else if (row.mark) {
        words += '\n' + MARKS[row.mark];
      }
      if (shown.across) words += '\n' + formatTick(100 * row.value) + THIN + '% of the samples took at most this time';
      if (row.style & STYLE.unranked && String(row.text).indexOf('not ranked') < 0) words += ', not ranked';
      if (row.style & STYLE.hatched) words += ', simulated or software';
      return row.text && !shown.across ? words + '\n' + row.text : words;
    };
  },

  // The label of a category, in at most `lines` lines (absent: 1), each cut in its middle to `width` pixels.
  category: function (args, owner) {
    return function (value) {
      if (!args.width) return String(value);
      var font = args.font || '12px',
        most = args.lines || 1;
      var lines = most > 1 ? nameLines(String(value), args.width, font, owner.measure) : [String(value)];
      if (lines.length > most) lines.push(lines.splice(most - 1).join(' '));
      return lines
        .map(function (line) {
          return cutTo(line, args.width, font, owner.measure);
        })
        .join('\n');
    };
  },
};

[inCategories, inPlanes].forEach(function (some) {
  for (var name in some) functions[name] = some[name];
});

function functionNames() {
  return Object.keys(functions).sort();
}

function withFunctions(value, owner) {
  if (Array.isArray(value))
    return value.map(function (item) {
      return withFunctions(item, owner);
    });
  if (value === null || typeof value !== 'object') return value;
  if (value.$fn !== undefined) {
    if (!Object.prototype.hasOwnProperty.call(functions, value.$fn)) throw new Error('unknown function ' + value.$fn);
    return functions[value.$fn](value, owner);
  }
  for (var key in value) if (key !== 'data') value[key] = withFunctions(value[key], owner);
  return value;
}

export { functionNames, withFunctions };
