//! Draws the picture of a chat with the bundled model in a terminal, as SVG.

use std::{env, fmt::Write, fs, num::NonZero, path::Path};

use vt100::{Cell, Color, Parser, Screen};

use super::{
    Home,
    pty::{Control, Pty},
    terminal::PROMPT,
};

/// The columns and rows of the terminal.
const SIZE: (u16, u16) = (100, 40);
/// The size of a cell in units of the picture.
const CELL: (u16, u16) = (9, 19);
const MARGIN: u16 = 14;
/// The day in the picture.
const DAY: &str = "2026-11-30";

/// Lets a person ask for a habit, read the question, and say yes. Returns the final screen.
fn record() -> Parser {
    let home = Home::new();
    let command =
        home.command(&["chat", "--engine", "process", "--locale", "en", "--session", "habits"]);
    let mut chat = Pty::start(command, SIZE, Control::Not);
    let mut shown = chat.until_shown(PROMPT);
    chat.write("Add Morning sunlight to my habits\r");
    shown += &chat.until_shown("[y/n]");
    chat.write("y");
    shown += &chat.until_shown(PROMPT);
    chat.write("/quit\r");
    assert!(chat.ended().0.success());
    let [columns, rows] = [SIZE.0, SIZE.1].map(|size| NonZero::new(size).unwrap());
    let mut terminal = Parser::new(rows, columns, 0);
    terminal.process(on_one_day(shown).as_bytes());
    terminal
}

/// Replaces each date by the day of the picture, which would change overnight otherwise.
fn on_one_day(mut shown: String) -> String {
    let form = DAY.as_bytes();
    let is_date = |letters: &[u8]| {
        letters.iter().zip(form).all(|(letter, digit)| match digit {
            b'-' => *letter == b'-',
            _ => letter.is_ascii_digit(),
        })
    };
    let windows = shown.as_bytes().windows(form.len()).enumerate();
    let places: Vec<_> =
        windows.filter(|(_, letters)| is_date(letters)).map(|(place, _)| place).collect();
    for place in places {
        shown.replace_range(place..place + form.len(), DAY);
    }
    shown
}

/// Draws a screen without its empty rows at the end.
fn svg(screen: &Screen) -> String {
    let rows: Vec<_> = screen.rows(0, SIZE.0).collect();
    let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |row| row as u16 + 1);
    let width = SIZE.0 * CELL.0 + 2 * MARGIN;
    let height = used * CELL.1 + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"15\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1b1d23\"/>\n"
    );
    for row in 0..used {
        let y = MARGIN + row * CELL.1 + 14;
        for (column, cells, text) in runs(screen, row) {
            let x = MARGIN + column * CELL.0;
            // With its length, so that wide letters and a reader's own font keep the columns.
            let length = cells * CELL.0;
            let style = style(screen.cell(row, column).expect("the cell lies in the screen"));
            writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" xml:space=\"preserve\"{style}>{}</text>",
                escaped(&text)
            )
            .expect("a String takes what is written");
        }
    }
    svg + "</svg>\n"
}

/// Splits a row into texts of one style, each with its column, width and letters.
fn runs(screen: &Screen, row: u16) -> Vec<(u16, u16, String)> {
    let mut runs: Vec<(u16, u16, String)> = Vec::new();
    for column in 0..SIZE.0 {
        let cell = screen.cell(row, column).expect("the cell lies in the screen");
        if cell.is_wide_continuation() {
            continue;
        }
        let cells = 1 + u16::from(cell.is_wide());
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let before = column.checked_sub(1).and_then(|before| screen.cell(row, before));
        let goes_on = before.is_some_and(|before| style(before) == style(cell));
        match runs.last_mut() {
            Some((_, length, run)) if goes_on => {
                *length += cells;
                run.push_str(text);
            }
            _ => runs.push((column, cells, text.to_owned())),
        }
    }
    for (_, cells, text) in &mut runs {
        let blanks = text.len() - text.trim_end_matches(' ').len();
        text.truncate(text.len() - blanks);
        *cells -= blanks as u16;
    }
    runs.retain(|(_, cells, _)| *cells > 0);
    runs
}

fn style(cell: &Cell) -> String {
    let color = match cell.fgcolor() {
        Color::Idx(1 | 9) => "#f07178",
        Color::Idx(2 | 10) => "#9ccc65",
        Color::Idx(3 | 11) => "#ffcb6b",
        Color::Idx(4 | 12) => "#82aaff",
        Color::Idx(5 | 13) => "#c792ea",
        Color::Idx(6 | 14) => "#89ddff",
        Color::Idx(8) => "#7f848e",
        Color::Idx(_) | Color::Default | Color::Rgb(..) => "#d5d8df",
    };
    let weight = if cell.bold() { " font-weight=\"bold\"" } else { "" };
    let faint = if cell.dim() { " opacity=\"0.6\"" } else { "" };
    format!(" fill=\"{color}\"{weight}{faint}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn the_picture_of_the_readme_shows_what_a_terminal_shows() {
    let terminal = record();
    let drawn = svg(terminal.screen());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/chat.svg");
    if env::var_os("MADANG_RECORD").is_some() {
        fs::write(&file, &drawn).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept == drawn, "scripts/record.sh draws it again; now it is\n{drawn}");
}
