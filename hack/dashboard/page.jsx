// The panels of dashboard.json, drawn by Grafana's own components from the series in
// data.json, which test/monitoring/series makes: as in a Grafana, without its server.
import React from 'react';
import { createRoot } from 'react-dom/client';
import { createTheme, dateTime, FieldType, getDisplayProcessor, ThemeContext, toDataFrame } from '@grafana/data';
import { BigValue, BigValueColorMode, BigValueGraphMode, BigValueJustifyMode, BigValueTextMode, GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui';
import 'uplot/dist/uPlot.min.css';
import dashboard from './dashboard.json';
import data from './data.json';

const theme = createTheme({ colors: { mode: 'dark' } });
const column = 50, cell = 30, gap = 8; // of the grid, in pixels
const times = Array.from(Object.values(data.Series)[0][0].Values, (_, i) => data.From + i * data.Step);
const from = dateTime(times[0]), to = dateTime(times[times.length - 1]);

// frames are the series of a panel as Grafana's data frames, with the panel's options and
// Grafana's defaults for its kind.
function frames(panel) {
  return (data.Series[panel.title] || []).map(({ Legend, Values }, seriesIndex) => {
    const frame = toDataFrame({
      fields: [{ name: 'time', type: FieldType.time, values: times }, { name: 'value', type: FieldType.number, values: Values }],
    });
    for (const field of frame.fields) {
      const { custom, ...defaults } = panel.fieldConfig.defaults;
      field.config = { color: { mode: 'palette-classic' }, ...defaults, custom: { lineWidth: 1, ...custom }, displayName: Legend || panel.title };
      field.state = { seriesIndex };
      field.display = getDisplayProcessor({ field, theme, timeZone: 'utc' });
    }
    return frame;
  });
}

function Stat({ panel, width, height }) {
  const config = { color: { mode: 'thresholds' }, ...panel.fieldConfig.defaults };
  const display = getDisplayProcessor({ field: { type: FieldType.number, config }, theme });
  const values = frames(panel)[0]?.fields[1].values ?? [null];
  return <BigValue width={width} height={height} theme={theme} value={display(values[values.length - 1])} graphMode={BigValueGraphMode.None}
    colorMode={BigValueColorMode.Value} justifyMode={BigValueJustifyMode.Auto} textMode={BigValueTextMode.Auto} />;
}

function Graph({ panel, width, height }) {
  const all = frames(panel);
  if (!all.length) {
    return <div style={{ padding: 16, color: theme.colors.text.secondary }}>No data</div>;
  }
  return <TimeSeries width={width} height={height} frames={all} timeRange={{ from, to, raw: { from, to } }} timeZone="utc"
    legend={{ showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] }} tooltip={{ mode: 'none' }} />;
}

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const style = { position: 'absolute', left: x * column + gap, top: y * cell + gap, width: w * column - gap, height: h * cell - gap };
  if (panel.type === 'row') {
    return <h4 style={style}>{panel.title}</h4>;
  }
  return <div style={style}>
    <PanelChrome title={panel.title} width={style.width} height={style.height}>
      {(width, height) => panel.type === 'stat' ? <Stat {...{ panel, width, height }} /> : <Graph {...{ panel, width, height }} />}
    </PanelChrome>
  </div>;
}

createRoot(document.getElementById('root')).render(<ThemeContext.Provider value={theme}>
  <GlobalStyles />
  {dashboard.panels.flatMap((p) => [p, ...(p.panels || [])]).map((p, i) => <Panel key={i} panel={p} />)}
</ThemeContext.Provider>);
