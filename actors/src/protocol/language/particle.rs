//! The particles of Korean whose form follows the sound before them.

/// A particle that follows a name in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Particle {
    /// 을 or 를: what something is done to.
    Object,
    /// 은 or 는: what is spoken of.
    Topic,
    /// 으로 or 로: by what, as what.
    As,
    /// 과 or 와: with what.
    With,
    /// 이라 or 라: so it is called.
    Called,
}

impl Particle {
    /// Returns the form that follows a name. How letters other than Korean ones and digits sound is
    /// not known, so both forms follow them. Quotes and brackets at the end have no sound.
    #[must_use]
    pub fn after(self, name: &str) -> &'static str {
        let [closed, open, both] = match self {
            Self::Object => ["을", "를", "을(를)"],
            Self::Topic => ["은", "는", "은(는)"],
            Self::As => ["으로", "로", "(으)로"],
            Self::With => ["과", "와", "와(과)"],
            Self::Called => ["이라", "라", "(이)라"],
        };
        match (name.chars().rev().find(|letter| letter.is_alphanumeric()).and_then(ends), self) {
            (Some(Sound::Open), _) | (Some(Sound::Liquid), Self::As) => open,
            (Some(Sound::Closed | Sound::Liquid), _) => closed,
            (None, _) => both,
        }
    }
}

/// How a syllable ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sound {
    /// With a vowel.
    Open,
    /// With ㄹ.
    Liquid,
    /// With another consonant.
    Closed,
}

/// The syllables of one consonant and one vowel: without an end, and with each of 27 ends.
const ENDS: u32 = 28;
/// The place of ㄹ among the ends.
const LIQUID: u32 = 8;

fn ends(letter: char) -> Option<Sound> {
    Some(match letter {
        '가'..='힣' => match (u32::from(letter) - u32::from('가')) % ENDS {
            0 => Sound::Open,
            LIQUID => Sound::Liquid,
            _ => Sound::Closed,
        },
        // 이, 사, 오, 구
        '2' | '4' | '5' | '9' => Sound::Open,
        // 일, 칠, 팔
        '1' | '7' | '8' => Sound::Liquid,
        // 영 or 십, 삼, 육
        '0' | '3' | '6' => Sound::Closed,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_particle_follows_the_sound_before_it() {
        let forms =
            [Particle::Object, Particle::Topic, Particle::As, Particle::With, Particle::Called];
        let after = |name: &str| forms.map(|particle| particle.after(name)).join(" ");
        for (name, expected) in [
            ("완료", "를 는 로 와 라"),
            ("빈칸", "을 은 으로 과 이라"),
            ("물", "을 은 로 과 이라"),
            ("'아침 햇빛'", "을 은 으로 과 이라"),
            ("장보기 (2)", "를 는 로 와 라"),
            ("10", "을 은 으로 과 이라"),
            ("7", "을 은 로 과 이라"),
            ("wipe", "을(를) 은(는) (으)로 와(과) (이)라"),
            ("", "을(를) 은(는) (으)로 와(과) (이)라"),
        ] {
            assert_eq!(after(name), expected, "{name}");
        }
    }
}
