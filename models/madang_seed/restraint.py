"""What people say without wanting anything done: of themselves, of others, of some day, that it is not to be done, or half.

Much of it names a habit, a page or a word that could be searched for. Nothing is called for any of it.
"""

from __future__ import annotations

import random

# For each sentence of the assistant what it answers. `{t}` is an item, `{g}` a page, `{i}` a number, `{k}` a word.
SAYINGS: dict[str, dict[str, list[str]]] = {
    "en": {
        "heard": [
            # of oneself
            "[I|we] [had|bought|cooked|saw|found|lost|got|made|tried|ate] [{k}|a {k}|some {k}|my {k}|{a} {k}] [today|yesterday|this morning|last night|for lunch|for the first time|at {p}|with {name}|on the way home]<stop>", "[I'm|I am] [at {p}|in {p}|on the train|at the {k} shop|in the kitchen|in a meeting|waiting for {name}|making {k}|on my lunch break|with {name}|watching {k}]<stop>", "[I'm|I am] [a {k} person|not a {k} person|more of a {k} person|into {k}|no fan of {k}|fond of {k}]<stop>", "[I like|I love|I enjoy|I adore|I hate|I can't stand|I don't mind|I prefer] [{k}|{k} and {m}|{k} with {m}|{k} more than {m}|the {k} at {p}|my {k}]<stop>", "my [{k}|son|daughter|boss|friend|husband|wife|mother|neighbour|cat] [is {a}|likes {k}|has {k}|bought {k}|came home|lives in {p}|is called {name}|eats {k}|works with {k}|was {a} today]<stop>", "[{name}|my sister|my doctor|my coach|someone at work] [says hi|told me a joke|is visiting|moved to {p}|got married|loves {k}|sent me a photo of {k}]<stop>", "[today|yesterday|this week|last night|the weekend] was [{a}|fun|a lot of fun|boring|lovely|strange|long|busy|quiet]<stop>", "[work|school|the meeting|the class|the trip|the party|dinner|the film] was [{a}|good|fun|boring|cancelled|long|better than expected]<stop>", "it's [raining|snowing|sunny|hot|Friday|late|my birthday|almost {x}] [here|again|today|outside|]<stop>", "[my name is|call me|people call me] {name}<stop>", "I [live|work|study|was born|grew up] in {p}<stop>", "I [was thinking about|read about|dreamt of|heard a story about|talked with {name} about] {k}[ today| last night| the other day|]<stop>", "I [can't decide between|know nothing about|know a bit about] {k}[ and {m}|]<stop>",
            "I love you[ so much|]<stop>", "I'm [bored|hungry|thirsty|cold|engaged|{name}|from {p}|at work|in {p}|on holiday|home|{x} years old|a teacher|a nurse|29|new here]<stop>", "my name is {name}<stop>", "my [dog|cat|car|phone|boss|sister|{k}] [is called {name}|is {a}|broke|died|is lovely|is blue]<stop>", "[lol|haha|hahaha|wow|hmm|oh no|oops|omg|whatever|really|seriously|interesting|nice weather|hm|ugh|yay|huh|meh|aha][!|.|?|...|]", "[you're|you are] [stupid|funny|cute|wrong|useless|the best|amazing|so slow|an idiot|great|weird|lying][!|.|]", "[I think|I guess|maybe] [you're right|it will rain|{w} was great|{p} is nice|it's late|{h} is boring]<stop>", "[happy birthday|merry christmas|happy new year|congratulations|good luck|bon appetit|cheers|see you in {p}][!|.|]", "[I watched|I read|I saw|I heard about|I visited] [a movie|{w}|{p}|a {k}|the game|{h}] [yesterday|last week|on tv|today]<stop>",
            # habits that are only mentioned
            "my [brother|sister|mother|friend|colleague|doctor|husband|wife] [does|swears by|recommends|loves|does not like|quit|started] {t}[ every day| too| last year|]<stop>", "{t} [was|is] [nice|hard|easier than I thought|my favourite|good for me|not for me|fun|what my {name} does]<stop>", "I [used to do|once tried|never liked|already know|did try] {t}[ years ago| as a child| last summer| before|]<stop>", "[habits|routines|streaks|good habits] are [hard|fun|important|easy to lose|overrated|a good thing]<stop>", "[my habits are|it is|things are|my streak is] going [well|great|fine|quite well|better now]<stop>", "I'm [happy|pleased|satisfied|proud] with my [habits|streak|progress|notes|pages|week]<stop>", "I [don't really believe in|believe in|like the idea of] [habits|protocols|{t}|streaks|to-do lists]<stop>", "[lots of|many|most] people [do|like|talk about|give up] {t}<stop>", "[habit {i}|number {i}|the second habit] [is my favourite|was hard today|is the hardest|gets easier|is a bit boring]<stop>", "I told {name} about [{t}|habit {i}|my habits|my notes]<stop>", "there are [so many|a lot of|too many] [protocols|habits|pages|things] [here|in there|nowadays]<stop>",
            # pages that are only mentioned
            "the [page {g}|{g} page] is [long|a mess|my best one|nearly done|too long|finished|important|quite new]<stop>", "I [wrote|made|cleaned up|read|showed {name}|finished] the [page {g}|{g} page] [yesterday|last week|this morning|already|by hand]<stop>", "[{name}|my boss] [likes|read|knows] my [{g} page|page {g}|notes]<stop>", "[notes|pages|lists] are [useful|great|not my thing|so practical|better on paper]<stop>", "I [always|never|hardly ever|often] [write|make|read] [notes|lists|pages]<stop>",
            # complaints and opinions
            "[that's|this is|you are|it is] [too slow|annoying|strange|not what I expected|confusing|boring|so slow today|weird|silly|a bit much]<stop>", "[you|this thing|this app|the program] [never listen|got it wrong|misunderstood me|keep asking|keeps asking me|answers slowly|ask too much]<stop>", "[what a|such a] [day|week|mess|pity|surprise|nice {k}|{a} day]<stop>", "[that was|it was|this was] [not what I meant|a joke|just a test|only an example|nonsense]<stop>", "I[ just| only|] [wanted to|thought I would] [say hello|talk|tell you|share that|chat a bit]<stop>", "[so|well|anyway|by the way], [I saw {name}|it rained|we had {k}|{k} is {a}|my {k} broke|that is life]<stop>",
        ],
        "later": [
            "[maybe|perhaps|some day|one day|next month|next year|in spring|after the holidays] I[ will|'ll| might| could] [start|try|add|do|take up] [{t}|{k}|jogging|a new habit|something with {k}|another habit]<stop>", "I[ might|'m thinking about|'m thinking of|'m not sure about|'m still deciding on|'m considering] [add|adding|starting|trying|doing|dropping|ending|making] [{t}|a {k} habit|habit {i}|a page about {k}|the {g} page|something new][ some day| next week| later| at some point|]<stop>", "I[ will|'ll|'m going to] [do|log|record|finish] [habit {i}|{t}|it|my habit] [tomorrow|later|tonight|after work|in the evening|this weekend]<stop>", "[should I|do you think I should] [add|start|try|end|do] {t} [or not|one day|after the holidays|or {u}]<stop>", "[if|when] I [had more time|move to {p}|am less busy|retire|get better|feel better][,|] I[ would|'d|'ll] [add|start|do|try] [{t}|more habits|{k}|a page about {k}]<stop>", "I[ would|'d] [love to|like to] [do|add|start|make|write] [{t}|more|a {g} page] [one day|some day|but not now|but not yet|when I have time|once I feel ready]<stop>", "[not now|not today|not yet|later|tomorrow|some other time][,|] [I have to think|let me think|I'm busy|I'm still thinking|first I need coffee|I'm too tired]<stop>", "I[ will|'ll] [think about|sleep on|come back to] [it|that|{t}|habit {i}|the {g} page]<stop>", "[let me|I need to] think [about it|it over|first|about {t}]<stop>",
        ],
        "dont": [
            "[please |]don't [add|start|record|log|save|end|track] [{t}|habit {i}|it|that|anything|this one|any of them|the first one|{t} yet][.|!| please|, ok?|]", "[no|wait|stop|oh no|hold on][,|] don't [add|log|save|record|end|do|change] [{t}|habit {i}|it|that|anything][.|!|]", "I don't want [{t}|that|{t} anymore in the list of results|any new habit|you to add anything|to add {t}|to add anything|you to record it]<stop>", "[leave|keep] [{t}|habit {i}|my habits|everything|the list|it] [alone|as it is|as they are|the way it is]<stop>", "[I said|I only said|I never said|nobody said] [that I like {t}|{t}, not that you should add it|to add {t}|to add anything|to save it|anything about {t}]<stop>", "[do|please do] not [add|log|record|save|change|end] [{t}|habit {i}|anything|this|that][.|!|]", "[just looking|just asking|I was only asking|I only asked|only curious] [about {t}|, don't add it|, no need to add anything|, nothing to save]<stop>", "[no need|there is no need|you don't have] to [add|record|save|log|change|do] [{t}|that|it|anything|habit {i}]<stop>", "without [adding|saving|changing] [it|anything|{t}][, I mean|, please|]<stop>", "[never|under no circumstances] [add|delete|change|end] [{t}|habit {i}|anything|my habits|my pages]<stop>",
        ],
        "unclear": [
            "[so|and|but|because|if|when|then|or|well] [I|the|it|that|you|we|my]", "[can|could|would|do|did|are|is|have] [you|it|we|that|the]", "[the|a|my|this|that|which|with|about|for|of|to][ one with| thing| other|]", "I [want to|need to|was|think the|have|mean the thing]", "[you know|like|I mean|how do I say], [the|that|it's|so]", "[uh|um|er|hmm so|eh], [the|it|what|that]", "[it|that|the thing|the other] [is|does|with the|of the]", "[what|how|who|why] [the|is it with the|about when|if the]", "[thingy|the whatsit|that stuff there|do the thing|you know what|the usual]<stop>", "[{v} {v}|{v}, {v} {v}] [the {v}|of {v}|and {v}]", "[on|in|at|under] the",
        ],
        "crisis": [
            "I [want to|wish I could] die[.|]", "I don't want to [live|be alive|be here] [anymore|any more][.|]", "I [want to|am going to|might] [hurt|kill|harm] myself[.|]", "I['m| am] thinking of [suicide|ending my life|ending it all|killing myself][.|]", "life is not worth living[ anymore|][.|]", "[nobody|no one] would miss me if I were [gone|dead][.|]",
        ],
    },
    "ko": {
        "heard": [
            # 자기 이야기
            "[나|나는|] [오늘|어제|아침에|방금|점심에|주말에|지난주에] [{name:이랑} |혼자 |친구랑 |{p}에서 |]{k:을} [샀어|봤어|만들었어|잃어버렸어|찾았어|선물 받았어|구경했어|먹었지|팔았어][요|.|!|~|]", "[나|지금|나 지금] [{p}에 있어|{p} 가는 길이야|지하철이야|회사야|집이야|카페야|{name} 기다리는 중이야|회의 중이야|{k} 보는 중이야|{k} 만드는 중이야][.|~|!|]", "[나는|난|저는|전] [{k:을}|{k:이}] [좋아해|싫어해|별로야|제일 좋아해|잘 못 먹어|무서워|그냥 그래][요|.|]", "[우리|내] [아들|딸|엄마|아빠|남편|아내|친구|동생|고양이|강아지|팀장님|할머니][은|는|이|가] [{k:을} 좋아해|{k:을} 샀어|{p}에 살아|{k}에 빠졌어|{a} {k:을} 만들었어|오늘 왔어|{k:을} 잘해][.|~|]", "[{name:이}|{name:은}] [안부 전해 달래|{p:으로} 이사 갔어|결혼했어|놀러 온대|{k:을} 좋아하더라|{k:을} 보내 줬어][.|~|]", "[오늘|어제|이번 주|주말][은|는] [재밌었어|길었어|정신없었어|조용했어|심심했어|평범했어|바빴어|즐거웠어][요|.|~|]", "[회의|수업|여행|영화|저녁|모임][는|은|가|이] [재밌었어|지루했어|취소됐어|생각보다 좋았어|길었어|그저 그랬어][요|.|]", "[비가|눈이] [오네|와|온다|많이 오네][요|.|~|]", "[벌써|오늘] [금요일이네|{x}시네|월요일이야|내 생일이야|쉬는 날이야|월급날이야][요|.|~|!|]", "[내|제] 이름은 {name:이야}[.|]", "나 {p}[에서 태어났어|에서 일해|에서 자랐어|에 살았었어][.|]", "[어제|방금|요즘] {k}에 대한 [꿈을 꿨어|책을 읽었어|얘기를 했어|다큐를 봤어][.|]", "{k:이랑} {m} [중에 못 고르겠어|둘 다 좋아|은 잘 어울리더라][.|]",
            "[사랑해|심심해|배고파|목말라|졸려 죽겠다|놀자|나 왔어|나 {name:이야}|나 {p}에 살아|결혼하자|보고 싶었어|오늘 월급날이야|방학이다|나 {x}살이야|집에 가고 싶다][|!|~|.|요]", "내 이름은 {name:이야}[|.]", "[우리 강아지|내 친구|우리 엄마|내 차|내 핸드폰|우리 {k}][는|가|] [귀여워|고장 났어|{name:이야}|파란색이야|도망갔어|예뻐][|.|!]", "[ㅋㅋ|ㅋㅋㅋㅋ|ㅎㅎㅎ|헐|대박|와|음|아하|ㅠㅠ|어머|에이|흠|글쎄|진짜|정말|오호|아이고|앗싸|메롱|뭐래|그래서][|?|!|...|~]", "[너|넌] [바보야|귀여워|웃기다|틀렸어|최고야|너무 느려|쓸모없어|이상해|대단해|거짓말쟁이야][|!|.]", "[생일 축하해|메리 크리스마스|새해 복 많이 받아|축하해|화이팅|힘내|맛있게 먹어][|!|~|요]", "[어제|방금|오늘|지난주에] [영화|드라마|{p}|{h} 다큐|경기|{k} 전시회] [봤어|다녀왔어|보고 왔어][|.|!]",
            # 말만 꺼낸 습관
            "[우리 엄마|내 동생|친구|형|누나|동료|의사 선생님|{name}][는|은|가|이|도] [매일 |요즘 |예전부터 |]{t:을} [해|한대|하더라|좋아해|추천하더라|하다 말았대|한 지 오래됐어][.|~|]", "{t:은} [생각보다 쉬웠어|어렵더라|재밌더라|나랑 안 맞아|내가 제일 좋아하는 거야|좀 지루해|인기가 많더라|참 좋은 것 같아][.|~|요|]", "[예전에|작년에|어릴 때|한동안] {t:을} [했었어|해 봤어|하다 말았어|열심히 했었지][.|]", "[습관|좋은 습관|루틴|꾸준함][은|이] [어려워|중요하지|재밌어|참 무서운 거야|제일 힘든 것 같아|별거 아니야][.|요|]", "[요즘|나] [습관|내 습관들] [잘 지키고 있어|잘 하고 있지|순조로워|잘 되고 있어][.|~|!|]", "[내 습관|기록|연속 기록|노트|페이지][이|가|들이|] [마음에 들어|뿌듯해|자랑스러워|쌓이니까 좋다][.|~|]", "{t} 하는 사람[이|] [많더라|많대|요즘 많지|대단해][.|]", "[{i}번 습관|{i}번][은|이] [제일 힘들어|재밌어|좀 지루해|마음에 들어|점점 쉬워져|내 최애야][.|~|]", "{name}한테 [{t} 얘기했어|내 습관 자랑했어|내 노트 보여 줬어|{t} 추천했어][.|]", "[프로토콜|습관|페이지][이|가] [참 |진짜 |]많[네|다|네요][.|~|]",
            # 말만 꺼낸 페이지
            "{g} 페이지[는|가] [너무 길어|엉망이야|거의 다 됐어|중요한 거야|마음에 들어|제일 잘 썼어|벌써 꽉 찼어][.|]", "[어제|아까|지난주에|아침에] {g} 페이지[를|에] [썼어|정리했어|만들었어|다 읽었어|손봤어][.|]", "[{name}|팀장님][이|도|가] 내 [{g} 페이지|노트][를|] [읽었대|좋아하더라|봤대][.|]", "[노트|메모|페이지]는 [역시 편해|종이가 더 좋아|참 좋은 거야|자주 안 써|매일 써][.|요|]",
            # 불평과 감상
            "[이거|너|여기|이 앱|프로그램][|는|은] [너무 느려|답답하네|이상해|복잡해|별로야|좀 어려워|자꾸 물어보네|귀찮게 하네|왜 이래][.|!|~|]", "[내 말을 못 알아듣네|자꾸 틀리네|그게 아닌데|말귀를 못 알아듣네|왜 자꾸 물어봐][.|!|]", "[무슨 이런|참 |정말 ][일이 다 있네|긴 하루였어|{a} 날이네|재밌는 하루네][.|]", "[농담이야|장난이야|그냥 한 말이야|그냥 말해 봤어|혼잣말이야|예를 든 거야|시험 삼아 말해 봤어][.|~|]", "[그냥|괜히] [말 걸어 봤어|수다 떨고 싶었어|얘기하고 싶었어|들러 봤어][.|~|]", "[그나저나|아무튼|근데|참][,|] [{k:이} {a} 편이더라|오늘 {name} 봤어|비가 오더라|{k} 값이 올랐더라][.|]",
        ],
        "later": [
            "[나중에|언젠가|다음 달에|내년에|봄이 되면|방학하면|여유가 생기면] [{t:을}|{t:이나}|{k} 습관을|새 습관을|뭔가] [시작할까 봐|해 볼까 해|해 볼지도 몰라|추가할까 해|할까 생각 중이야|해 보고 싶긴 해][.|~|]", "{t:을} [추가할까 말까|시작할까 말까|할지 말지|끝낼까 말까] [고민이야|고민 중이야|모르겠어|생각 중이야][.|~|]", "[내일|이따가|저녁에|퇴근하고|주말에] [{i}번 습관|{i}번|{t}][은|을|] [할 거야|하려고|할 예정이야|기록할게|할게][.|~|]", "[시간이|여유가|돈이] [있으면|생기면|많으면|더 있다면] [{t:을}|{k:을}|습관을 더|{g} 페이지를] [할 텐데|했을 텐데|만들 텐데|추가할 텐데|하고 싶은데][.|]", "[지금은|오늘은|아직은] [말고|아니고] [나중에|내일|다음에] [할게|생각해 볼게|말할게|정할게][.|~|]", "[{t:은}|{i}번은|그건] [좀 더 생각해 볼게|다음에 할게|나중에 정할게|아직 못 정했어|생각 좀 해 보고][.|~|]", "[언젠가는|언젠가] {t:을} [해야지|할 거야|하고 말 거야][.|~|!|]", "[만약|혹시] [내가 |]{t:을} [한다면 잘할 수 있을까|하게 되면 말할게|시작하게 되면 알려 줄게][.|?|]", "{k} 페이지를 [언젠가|나중에] [만들까 싶어|만들어야지|정리하긴 해야 하는데][.|~|]", "[천천히|좀 더] [생각해 볼게|고민해 볼게|고를게][요|.|~|]",
        ],
        "dont": [
            "{t:은} [추가하지 마|넣지 마|시작하지 마|등록하지 마|빼고 생각해|됐어, 추가하지 마][.|!|~|요|]", "[{i}번|{i}번 습관][은|] [기록하지 마|건드리지 마|끝내지 마|그대로 둬|체크하지 마|놔둬][.|!|~|요|]", "[아직|절대|제발|지금은] [아무것도 |][추가하지 마|저장하지 마|기록하지 마|하지 마|바꾸지 마|끝내지 마][.|!|~|요|]", "[아니|잠깐|아니 잠깐|앗|스톱][,|] [추가하지 마|기록하지 마|저장하지 마|하지 마|그거 하지 마|넣지 말고 기다려][.|!|~|]", "[추가하라는|기록하라는|저장하라는|시작하겠다는|바꾸라는] [말|뜻|얘기][이|은|] 아니[야|었어|라고|에요][.|!|]", "{t} [추가해 달라는|하겠다는|시작한다는] [말|얘기] [아니야|아니었어|안 했어|한 적 없어][.|!|]", "[{t:은}|그건|새 습관은] [필요 없어|안 할래|싫어|관심 없어|안 할 거야][.|!|요|]", "[내 습관|습관 목록|{i}번 습관|지금 습관][은|을|] [그대로 둬|건드리지 마|그냥 놔둬|바꾸지 마][.|!|요|]", "[그냥 물어본 거야|그냥 궁금해서|보기만 할게|구경만 할게|물어보기만 한 거니까][.|,|] [추가하지 마|저장은 하지 마|아무것도 하지 마|추가는 안 해도 돼][.|~|]", "[추가|기록|저장|등록][은|할 필요|] [안 해도 돼|할 필요 없어|하지 말아 줘|하지 마세요][.|~|]", "누가 [추가하래|기록하래|저장하래|{t} 하래][?|!|]",
        ],
        "unclear": [
            "[그러니까|그니까|아니 그게|저기 그|음 그|혹시 그|있잖아 그][...|..|,|]", "[그거|저거|이거|거시기|그 뭐냐|뭐더라] [그|좀|있잖아|말인데|그러니까][...|..|]", "[내가|나는|우리|너는|저는] [그|좀|막|이제][...|..|]", "[아니|근데|그래서|그리고|왜냐하면|만약에|그런데][...|..|,|]", "[{k:이}|{k:은}] [그|막|뭐랄까|그러니까][...|..|]", "[어제|오늘|내일] 그[...|..| 거시기|]", "{v:을} {v}[...|하게 {v}|에 {v}|]", "[그 사람이|걔가|거기서|그때] [그|뭐였지|막][...|..|]", "[에서|으로|한테|까지|부터] [그|좀][...|]", "[뭐시기|거시기|그 왜|그거 그거] [그거|있잖아|좀][...|]", "[늘 하던 대로|알아서|대충 그렇게|그 뭐시기 좀] [해|부탁해|그]",
        ],
        "crisis": [
            "[죽고 싶어|죽어 버리고 싶어|죽고 싶다][요|.|]", "[그만|더 이상] 살고 싶지 않아[요|.|]", "[자살|극단적인 선택]을 [생각하고 있어|하고 싶어|할 것 같아][요|.|]", "[나를|내 몸을|스스로를] [해치고 싶어|다치게 하고 싶어][요|.|]", "[사는 게|살아서] [의미가 없어|뭐 하나 싶어|무슨 소용이야][.|]", "[내가|나] [사라져도|없어져도] 아무도 모를 거야[.|]",
        ],
    },
}

# What is neither Korean nor English.
FOREIGN = [
    "こんにちは、元気ですか？", "習慣を追加してください。", "睡眠に良い習慣を教えて", "ありがとうございます", "天気はどうですか", "ページを作って", "おはよう", "これは何ですか？", "日本語を話せますか", "私の習慣を見せて", "散歩を追加して", "手伝ってください",
    "你好，你是谁？", "请帮我添加一个习惯", "有什么助眠的方法吗？", "谢谢", "今天天气怎么样", "打开页面", "你会说中文吗", "显示我的习惯", "我睡不着", "再见", "我想每天散步", "删除第三个",
    "Hola, ¿qué tal?", "¿Puedes añadir un hábito?", "Muéstrame mis hábitos, por favor", "¿Qué tiempo hace hoy?", "Quiero dormir mejor", "Gracias por todo", "Abre la página de compras", "Añade el paseo diario", "¿Hablas español?", "Borra la página", "Buenos días", "Tengo hambre",
    "Bonjour, ça va ?", "Ajoute une habitude s'il te plaît", "Montre-moi mes habitudes", "Je n'arrive pas à dormir", "Merci beaucoup", "Ouvre la page des courses", "Quel temps fait-il ?", "Parlez-vous français ?", "Je voudrais marcher tous les jours", "Supprime la page", "Bonne nuit", "C'est quoi ?",
    "Guten Tag, wie geht's?", "Füge eine Gewohnheit hinzu", "Zeig mir meine Gewohnheiten", "Ich kann nicht schlafen", "Danke schön", "Öffne die Seite Einkaufen", "Wie ist das Wetter?", "Sprichst du Deutsch?", "Ich möchte jeden Tag spazieren gehen", "Lösche die Seite", "Guten Morgen", "Was ist das?",
    "Olá, tudo bem?", "Adicione um hábito, por favor", "Não consigo dormir", "Obrigado pela ajuda", "Mostre os meus hábitos", "Ciao, come stai?", "Aggiungi un'abitudine per favore", "Non riesco a dormire", "Grazie mille", "Mostrami le mie abitudini", "Apri la pagina della spesa", "Buongiorno",
    "Привет, как дела?", "Добавь привычку", "Покажи мои привычки", "Я не могу уснуть", "Спасибо", "Открой страницу", "Xin chào, bạn khỏe không?", "Thêm một thói quen", "Tôi không ngủ được", "Cảm ơn bạn", "สวัสดีครับ", "ขอบคุณมาก", "مرحبا، كيف حالك؟", "شكرا جزيلا", "नमस्ते, आप कैसे हैं?", "धन्यवाद",
    "Merhaba, nasılsın?", "Alışkanlık ekle lütfen", "Teşekkürler", "Hallo, hoe gaat het?", "Voeg een gewoonte toe", "Ik kan niet slapen", "Dank je wel", "Hej, hur mår du?", "Lägg till en vana", "Tack så mycket", "Cześć, jak się masz?", "Dodaj nawyk, proszę", "Dziękuję bardzo", "Selamat pagi, apa kabar?", "Tambahkan kebiasaan", "Terima kasih banyak",
]

_KEYS = {"ko": "ㅁㄴㅇㄹㅂㅈㄷㄱㅋㅌㅊㅍㅛㅕㅑㅐㅔㅗㅓㅏㅣ", "en": "asdfjklqwertyuiopzxcvbnm"}
_MARKS = ("?", "!", ".", ",", "~", ";", "#", "*", "/", "@", "1", "0", "-", "=")


def rubbish(rng: random.Random, language: str) -> str:
    """Keys at random, or nothing but marks and digits."""
    roll = rng.random()
    if roll < 0.35:
        return rng.choice(_MARKS) * rng.randint(1, 6)
    if roll < 0.5:
        return "".join(rng.choice(_MARKS) for _ in range(rng.randint(2, 8)))
    if roll < 0.6:
        return str(rng.randint(0, 10 ** rng.randint(1, 9)))
    keys = _KEYS[language if rng.random() < 0.8 else "en"]
    return " ".join(
        "".join(rng.choice(keys) for _ in range(rng.randint(3, 9))) for _ in range(rng.choice((1, 1, 1, 2, 3)))
    )
