//! Charts, and the cells they refer to.

use results::CaseResult;
use rust_xlsxwriter::{
    Chart, ChartAxisLabelPosition, ChartErrorBars, ChartErrorBarsType, ChartFont,
    ChartLegendPosition, ChartLine, ChartMarker, ChartMarkerType, ChartRange, ChartType, ColNum,
    Format, RowNum, Workbook, Worksheet, XlsxError,
};

use crate::first_seen::grouped;
use crate::layouts::{Plot, layouts};
use crate::workbook::pages::{CellValue, Names, WHOLE, fitting, heading};

/// Name of the sheet with the figures of the charts.
const DATA: &str = "charts-data";

/// Size of a chart in pixels, and in cells with a margin; two charts are side by side.
const CHART_PIXELS: (u32, u32) = (620, 340);
const CHART_CELLS: (ColNum, RowNum) = (10, 18);
const CHARTS_IN_A_ROW: usize = 2;

/// Colours for the colour-blind (Okabe and Ito, 2008), each with its marker.
const LOOKS: [(u32, ChartMarkerType); 8] = [
    (0x000000, ChartMarkerType::Circle),
    (0xD55E00, ChartMarkerType::Square),
    (0xE69F00, ChartMarkerType::PlusSign),
    (0x009E73, ChartMarkerType::Diamond),
    (0xCC79A7, ChartMarkerType::X),
    (0x0072B2, ChartMarkerType::Triangle),
    (0x56B4E9, ChartMarkerType::Star),
    (0x999999, ChartMarkerType::LongDash),
];

/// Position of a chart's figures on the data sheet.
struct Block {
    /// Row with the names of the lines.
    names: RowNum,
    first: RowNum,
    last: RowNum,
}

/// Adds the charts of `results`, one sheet per kind, and one sheet with their figures.
pub(super) fn add(workbook: &mut Workbook, results: &[CaseResult]) -> Result<(), XlsxError> {
    let plots: Vec<Plot> = layouts().iter().flat_map(|layout| (layout.plots)(results)).collect();
    if plots.is_empty() {
        return Ok(());
    }
    let mut data = Worksheet::new();
    data.set_name(DATA)?;
    let mut names = Names::default();
    for taken in ["run", DATA, "summary", "raw"] {
        names.free(taken);
    }
    let mut drawn = Vec::new();
    let mut row = 0;
    for plot in &plots {
        let block = write_block(&mut data, row, plot)?;
        row = block.last + 2;
        drawn.push((plot.sheet.as_str(), chart(plot, &block)));
    }
    for (name, charts) in &grouped(drawn) {
        let sheet = workbook.add_worksheet().set_name(names.free(name))?;
        sheet.set_landscape().set_print_fit_to_pages(1, 0);
        for (at, chart) in charts.iter().enumerate() {
            let (row, column) = (at / CHARTS_IN_A_ROW, at % CHARTS_IN_A_ROW);
            let row = RowNum::try_from(row).unwrap_or(RowNum::MAX).saturating_mul(CHART_CELLS.1);
            let column = if column == 0 { 0 } else { CHART_CELLS.0 };
            sheet.insert_chart(row, column, chart)?;
        }
    }
    data.set_column_width(0, 14)?;
    workbook.push_worksheet(data);
    Ok(())
}

/// The column of a line's figures; their intervals are in the two columns after it.
fn column_of(line: usize) -> ColNum {
    ColNum::try_from(1 + 3 * line).unwrap_or(ColNum::MAX)
}

/// Writes the figures of `plot` from `row` on: its title, the names of its lines, and a row per x.
fn write_block(data: &mut Worksheet, row: RowNum, plot: &Plot) -> Result<Block, XlsxError> {
    let title = format!("{} ({})", plot.title, plot.y_title);
    data.write_string_with_format(row, 0, fitting(&title), &Format::new().set_bold())?;
    let names = row + 1;
    data.write_string_with_format(names, 0, fitting(&plot.x_title), &heading())?;
    for (at, line) in plot.lines.iter().enumerate() {
        let headings = [fitting(&line.name), "below".to_owned(), "above".to_owned()];
        for (column, text) in (column_of(at)..).zip(headings) {
            data.write_string_with_format(names, column, text, &heading())?;
        }
    }
    let first = names + 1;
    let mut last = first;
    for ((row, at), x) in (first..).zip(0..).zip(&plot.x) {
        last = row;
        let format = if x.fract() == 0.0 { WHOLE } else { "0.###" };
        CellValue::number(*x, format).write(data, row, 0)?;
        for (line, points) in plot.lines.iter().map(|line| &line.points).enumerate() {
            let values = points[at].map_or([const { CellValue::Missing }; 3], |point| {
                [point.mid, point.below, point.above].map(|value| CellValue::measured(value, ""))
            });
            for (column, value) in (column_of(line)..).zip(values) {
                value.write(data, row, column)?;
            }
        }
    }
    Ok(Block { names, first, last })
}

fn chart(plot: &Plot, block: &Block) -> Chart {
    let mut chart = Chart::new(ChartType::ScatterStraightWithMarkers);
    let range = |column| ChartRange::new_from_range(DATA, block.first, column, block.last, column);
    for (at, line) in plot.lines.iter().enumerate() {
        let (colour, marker) = LOOKS[line.look % LOOKS.len()];
        let column = column_of(at);
        let mut thick = ChartLine::new();
        thick.set_color(colour).set_width(1.75);
        let mut thin = ChartLine::new();
        thin.set_color(colour).set_width(0.75);
        let mut bars = ChartErrorBars::new();
        bars.set_type(ChartErrorBarsType::Custom(range(column + 2), range(column + 1)));
        bars.set_format(&mut thin.clone());
        let mut mark = ChartMarker::new();
        mark.set_type(marker).set_size(6).set_format(&mut thin);
        chart
            .add_series()
            .set_name((DATA, block.names, column))
            .set_categories(&range(0))
            .set_values(&range(column))
            .set_format(&mut thick)
            .set_marker(&mark)
            .set_y_error_bars(&bars);
    }
    let mut font = ChartFont::new();
    font.set_size(10);
    chart.title().set_name(fitting(&plot.title).as_str()).set_font(&font);
    chart.x_axis().set_name(plot.x_title.as_str());
    chart.y_axis().set_name(plot.y_title.as_str());
    chart.legend().set_position(ChartLegendPosition::Bottom);
    if plot.logarithmic {
        chart.x_axis().set_log_base(10).set_label_position(ChartAxisLabelPosition::Low);
        chart.y_axis().set_log_base(2);
    } else {
        chart.x_axis().set_min(0);
        chart.y_axis().set_min(0);
    }
    chart.set_width(CHART_PIXELS.0).set_height(CHART_PIXELS.1).show_na_as_empty_cell();
    chart
}
