//! Time windows in which a step is counted.

use std::time::Duration;

/// Maximum settling time before the counted time of a step; it is a tenth of the counted time if that is less.
const SETTLING_AT_MOST: Duration = Duration::from_millis(500);

/// The window in which a step is counted: a time, and then until each connection was served several times on average.
///
/// One *service round*, in which as many exchanges end as there are connections, can take longer than any fixed time if there are
/// many connections. Replies within less than a service round are those of the connections that were served first;
/// percentiles need several rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Minimum time.
    pub at_least: Duration,
    /// Minimum number of ended exchanges, as a multiple of the number of connections.
    pub service_rounds: u32,
    /// Maximum time, also without enough exchanges.
    pub at_most: Duration,
}

impl Window {
    /// The window, `times` times as long.
    pub fn times(self, times: u32) -> Self {
        Self {
            at_least: self.at_least * times,
            service_rounds: self.service_rounds * times,
            at_most: self.at_most * times,
        }
    }

    /// A fixed time.
    pub const fn of(time: Duration) -> Self {
        Self { at_least: time, service_rounds: 0, at_most: time }
    }

    /// The uncounted window before this one, so that counted exchanges begin under the full load: a tenth of the time, and
    /// one service round where several are counted.
    pub(crate) fn settling(self) -> Self {
        let at_least = (self.at_least / 10).min(SETTLING_AT_MOST);
        let service_rounds = self.service_rounds.min(1);
        let at_most = match service_rounds {
            0 => at_least,
            _ => (self.at_most / 2).min(SETTLING_AT_MOST).max(at_least),
        };
        Self { at_least, service_rounds, at_most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_time_settles_for_a_tenth_and_service_rounds_for_one_of_them() {
        let ms = Duration::from_millis;
        assert_eq!(Window::of(ms(100)).settling(), Window::of(ms(10)));
        assert_eq!(Window::of(ms(60_000)).settling(), Window::of(ms(500)));
        let window = Window { at_least: ms(100), service_rounds: 4, at_most: ms(800) };
        let settling = Window { at_least: ms(10), service_rounds: 1, at_most: ms(400) };
        assert_eq!(window.settling(), settling);
    }
}
