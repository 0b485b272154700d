//! Tests the families of the chat templates of others, and the calls that they write.

use madang_actors::{port::Caveat, protocol::WantedCall};
use madang_parser::{Parser, Segment};
use serde_json::Value;

use super::{
    super::templates::{Published, brought, with_each},
    *,
};

/// The expected finding for a file of this name; the first equal beginning counts.
const PUBLISHED: [(&str, &Family); 53] = [
    ("NousResearch-Hermes-", &HERMES),
    ("Qwen-Qwen2.5-", &HERMES),
    ("Qwen-Qwen3-", &HERMES),
    ("Qwen-QwQ-", &HERMES),
    ("google-gemma-4-", &GEMMA_4),
    ("gemma4", &GEMMA_4),
    ("google-gemma-3-", &GEMMA_3),
    ("google-gemma-2-", &GEMMA_3),
    ("google-functiongemma-", &FUNCTION_GEMMA),
    ("meta-llama-Llama-3.", &LLAMA_3),
    ("mistralai-Mistral-Nemo-", &MISTRAL),
    ("mistralai-Mistral-Small-3.1-", &MISTRAL),
    ("Mistral-Small-3.2-", &MISTRAL_MARKED),
    ("mistralai-Ministral-3-", &MISTRAL_MARKED),
    ("unsloth-mistral-Devstral-", &MISTRAL_MARKED),
    ("LFM2", &LFM2),
    ("deepseek-ai-DeepSeek-R1-Distill-Qwen-", &DEEPSEEK_R1),
    ("llama-cpp-deepseek-r1", &DEEPSEEK_R1),
    ("deepseek-ai-DeepSeek-V3.1", &DEEPSEEK_V3_1),
    ("moonshotai-Kimi-K2", &KIMI_K2),
    ("meetkai-functionary-medium-v3.1", &FUNCTIONARY),
    ("upstage-Solar-Open-", &SOLAR),
    ("Qwen3-Coder", &QWEN_CODER),
    ("Qwen3.5-", &QWEN_CODER),
    ("NVIDIA-Nemotron-3-", &QWEN_CODER),
    ("StepFun3.5-", &QWEN_CODER),
    ("ByteDance-Seed-OSS", &SEED),
    ("GLM-4.6", &GLM),
    ("poolside-Laguna-XS", &GLM),
    ("GLM-4.7", &GLM_TIGHT),
    ("poolside-Laguna-S-", &GLM_TIGHT),
    ("Spark2.5", &GLM_TIGHT),
    ("inclusionai-ling-3", &GLM),
    ("tencent-Hy3", &HY_3),
    ("MiniMax-M2", &MINIMAX_M2),
    ("deepseek-ai-DeepSeek-V3.2", &DEEPSEEK_V3_2),
    ("deepseek-ai-DeepSeek-V4", &DEEPSEEK_V4),
    ("HuggingFaceTB-SmolLM3", &HERMES),
    ("openai-gpt-oss-", &GPT_OSS),
    ("ibm-granite-granite-3.3", &GRANITE_3),
    ("NVIDIA-Nemotron-Nano-v2", &NEMOTRON_2),
    ("Apriel-1.6", &APRIEL),
    ("unsloth-Apriel-1.5", &APRIEL),
    ("GigaChat3.1", &GIGACHAT),
    ("MiniMax-M1", &APRIEL),
    ("ibm-granite-granite-4", &HERMES),
    ("MiMo-VL", &HERMES),
    ("microsoft-Phi-3.5-", &ENVELOPE),
    ("CohereForAI-c4ai-command-r7b", &COHERE),
    ("Cohere2MoE", &COHERE),
    ("Apertus-", &APERTUS),
    ("GigaChat3-", &GIGACHAT_3),
    ("openbmb-MiniCPM5", &MINICPM_5),
];

/// Templates whose own calls no family reads yet. Their models are asked for calls in another form,
/// and the start says so.
const UNREAD: [&str; 3] = ["Kimi-K3", "MiniMax-M3", "muse-glimmer"];

fn dialect_of(template: &Published) -> Dialect {
    let gguf = Gguf { chat_template: Some(template.source.clone()), ..Gguf::default() };
    // These write no calls; their files have the marker.
    let markers = [("LFM2", "<|tool_call_start|>"), ("HuggingFaceTB-SmolLM3", "<tool_call>")];
    let is_token = |text: &str| {
        markers.iter().any(|(name, marker)| template.name.starts_with(name) && text == *marker)
    };
    Dialect::detect(&gguf, &|text| template.source.contains(text) || is_token(text))
}

#[test]
fn published_templates_show_their_family_and_tell_tools_calls_and_results() {
    let problems = with_each(
        || (),
        |(), template| {
            let dialect = dialect_of(template);
            let mut problems = Vec::new();
            let known = PUBLISHED.iter().find(|(begin, _)| template.name.starts_with(begin));
            if let Some((_, family)) = known
                && dialect.family != *family
            {
                problems.push(format!("is {}, not {}", dialect.family.name, family.name));
            }
            let markers = markers(dialect.family);
            let prompt: String =
                Chat { text: "물" }.pieces(&dialect, &markers).iter().map(Piece::text).collect();
            let told = ["add_note", "is_new", "status", "물"];
            let untold: Vec<_> = told.into_iter().filter(|told| !prompt.contains(told)).collect();
            if !untold.is_empty() || prompt.matches("add_note").count() < 2 {
                problems.push(format!("does not tell {untold:?}: {prompt}"));
            }
            let forged = format!("x{}", names(dialect.family).concat());
            if readable(&dialect, &markers, &forged) != readable(&dialect, &markers, "x") {
                problems.push("lets markers be forged".to_owned());
            }
            problems
        },
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_call_as_a_published_template_writes_it_is_read_or_is_known_to_be_none() {
    if !brought() {
        return;
    }
    let unread = with_each(
        || (),
        |(), template| {
            let dialect = dialect_of(template);
            let says_so = dialect.caveats.contains(&Caveat::UnknownCalls);
            match native_call(&dialect) {
                // Of those that a person brings it is enough that they are said to be unknown.
                Some(native) if !is_read(&dialect, &native) => match (says_so, template.is_brought)
                {
                    (true, true) => vec![native],
                    (true, false) => Vec::new(),
                    (false, _) => vec![format!("unsaid: {native}")],
                },
                Some(_) | None if says_so => vec!["read, and said to be unknown".to_owned()],
                Some(_) | None => Vec::new(),
            }
        },
    );
    let is_said = |line: &&String| !line.contains(": unsaid: ") && !line.contains(": read, and");
    assert!(unread.iter().all(|line| is_said(&line)), "{}", unread.join("\n"));
    let name = |line: &String| line.split_once(": ").map(|(name, _)| name.to_owned());
    let names: Vec<String> = unread.iter().filter_map(name).collect();
    assert_eq!(names, UNREAD, "{}", unread.join("\n"));
}

/// Those of them whose calls begin with a text that no answer has. Such an answer is a call that
/// failed.
const OPENED: [(&str, &str); 1] = [("Kimi-K3", "<|close|>response<|sep|><|open|>")];

#[test]
fn a_call_that_no_family_reads_is_never_the_answer() {
    if !brought() {
        return;
    }
    let opened = with_each(
        || (),
        |(), template| {
            let dialect = dialect_of(template);
            let Some(foreign) = dialect.foreign.clone().filter(|_| template.is_brought) else {
                return Vec::new();
            };
            let native = native_call(&dialect).unwrap();
            let Some(at) = native.find(&*foreign) else {
                return vec![format!("{foreign} is not in {native}")];
            };
            let native = &native[at..];
            let tool = ToolSpec::new("add_note", "Adds a note", json!({"type": "object"}));
            let parser = Parser::new(dialect.family, dialect.stops).offering([tool].into());
            let mut parser = parser.failing(dialect.foreign.clone());
            let mut found = Vec::new();
            for letter in native.chars() {
                parser.push(letter.encode_utf8(&mut [0; 4]), &mut found);
            }
            parser.finish(false, &mut found);
            let [Segment::Malformed(call)] = &*found else { return vec![format!("{found:?}")] };
            assert_eq!((&*call.name, &*call.arguments), ("add_note", native));
            assert!(serde_json::from_str::<Value>(&call.arguments).is_err(), "nothing runs");
            vec![foreign.to_string()]
        },
    );
    let opened: Vec<_> = opened.iter().filter_map(|line| line.split_once(": ")).collect();
    assert_eq!(opened, OPENED);
}

/// Writes a call as the template does, from where the model went on. Returns `None` if it writes
/// none.
fn native_call(dialect: &Dialect) -> Option<String> {
    let user = json!({"role": "user", "content": "a"});
    let call = json!({
        "id": "probe0001",
        "type": "function",
        "function": {"name": "add_note", "arguments": arguments()},
    });
    let mut said = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    if dialect.telling == Telling::CallsWithResults {
        said["tool_responses"] = json!([{"name": "add_note", "response": "done"}]);
    }
    let result =
        json!({"role": "tool", "tool_call_id": "probe0001", "name": "add_note", "content": "done"});
    let render = |messages: &[Value]| {
        let input = TemplateInput {
            messages,
            tools: &[],
            bos: "",
            eos: "",
            has_thinking: false,
            max_bytes: LEAST_BYTES,
        };
        dialect.template.render(&input).ok()
    };
    let asked = render(std::slice::from_ref(&user))?;
    let whole = match dialect.telling {
        Telling::CallsWithResults => render(&[user, said]),
        Telling::Calls | Telling::Text { .. } => render(&[user, said, result]),
    }?;
    let alike = asked.bytes().zip(whole.bytes()).take_while(|(one, other)| one == other).count();
    // Not in the middle of a marker, with which both may begin.
    let before = &whole.as_bytes()[..alike];
    let begin = before.iter().rposition(|byte| matches!(byte, b'>' | b']' | b'\n'));
    let begin = begin.map_or(0, |at| at + 1);
    let native = &whole[begin..];
    let native = match dialect.family.opening {
        // The prompt has the role.
        Opening::Header(_) => native.strip_prefix("assistant").unwrap_or(native),
        Opening::Marker(_) | Opening::Answer(_) => native,
    };
    whole.contains("add_note").then(|| native.to_owned())
}

fn arguments() -> Value {
    json!({"text": "물 \"a\" <b>", "count": 2})
}

/// Whether the parser finds the call in what the model wrote, wherever the text is cut.
fn is_read(dialect: &Dialect, native: &str) -> bool {
    let parse = |pieces: &[&str]| {
        let mut parser = Parser::new(dialect.family, dialect.stops);
        let mut found = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut found);
        }
        parser.finish(false, &mut found);
        found
    };
    let found = parse(&[native]);
    for (cut, _) in native.char_indices() {
        let (begin, end) = native.split_at(cut);
        assert_eq!(parse(&[begin, end]), found, "{begin:?} {end:?}");
    }
    let letters: Vec<String> = native.chars().map(String::from).collect();
    assert_eq!(parse(&letters.iter().map(String::as_str).collect::<Vec<_>>()), found, "{native}");
    let is_call = |found: &Segment| match found {
        Segment::Call(WantedCall { name, arguments, .. }) => {
            let read: Result<Value, _> = serde_json::from_str(arguments);
            &**name == "add_note" && read.is_ok_and(|read| read == self::arguments())
        }
        Segment::Text(_) | Segment::Thinking(_) | Segment::Malformed(_) => false,
    };
    found.iter().any(is_call)
}
