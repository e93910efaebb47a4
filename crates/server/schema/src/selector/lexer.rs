//! The words and signs of a label selector.

/// What a piece of a selector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// A sign that means nothing; its text is the message.
    Fault,
    End,
    ClosePar,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Name,
    In,
    Less,
    NotEquals,
    NotIn,
    OpenPar,
}

fn known(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::ClosePar,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::OpenPar,
        _ => return None,
    })
}

fn is_sign(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// All pieces of the text; the last one is [`Token::End`]. A zero character ends the text.
pub(super) fn lex(text: &str) -> Vec<(Token, String)> {
    let text = text.split('\0').next().unwrap_or_default();
    let mut rest = text.trim_start_matches(is_space);
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length =
            if is_sign(first) { sign(rest) } else { rest.find(|c| is_sign(c) || is_space(c)).unwrap_or(rest.len()) };
        let (piece, after) = rest.split_at(length);
        let token = known(piece).unwrap_or(if is_sign(first) { Token::Fault } else { Token::Name });
        let piece =
            if token == Token::Fault { format!("error expected: keyword found '{piece}'") } else { piece.to_owned() };
        tokens.push((token, piece));
        rest = after.trim_start_matches(is_space);
    }
    tokens.push((Token::End, String::new()));
    tokens
}

/// The length of the longest known sign that the text starts with. Every sign alone is known.
fn sign(text: &str) -> usize {
    match text.get(..2) {
        Some(two) if known(two).is_some() => 2,
        _ => 1,
    }
}
