// SPDX-License-Identifier: Apache-2.0
// The parts of ECharts that charts use, and what turns a chart's option into one that ECharts accepts.
import { CustomChart, LineChart } from 'echarts/charts';
import { AriaComponent, GridComponent, LegendComponent, TitleComponent, TooltipComponent } from 'echarts/components';
import { init, setPlatformAPI, use } from 'echarts/core';
import { LabelLayout } from 'echarts/features';
import { SVGRenderer } from 'echarts/renderers';
import { functionNames, render, resolve } from './runtime.js';
import { formatNumber } from './words.js';

use([
  AriaComponent,
  CustomChart,
  GridComponent,
  LabelLayout,
  LegendComponent,
  LineChart,
  SVGRenderer,
  TitleComponent,
  TooltipComponent,
]);

function renderText(option, tokens, width, height, measure) {
  return render(init, setPlatformAPI, option, tokens, width, height, measure);
}

export { formatNumber, functionNames, init, renderText, resolve, setPlatformAPI };
