"""The pairs of the label probe: everyday sentences, written for it, that no trained model should find hard."""

from typing import Final

from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL

PAIRS: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    "en": (
        ("Two dogs are running across a field.", "Some animals are outdoors.", ENTAILMENT),
        ("A woman is slicing tomatoes in her kitchen.", "A woman is preparing food.", ENTAILMENT),
        ("A man is playing the guitar on a stage.", "A man is playing an instrument.", ENTAILMENT),
        ("Four boys are kicking a ball on the beach.", "Boys are playing with a ball.", ENTAILMENT),
        ("A girl is riding her bicycle down the street.", "The girl is on her way to visit her aunt.", NEUTRAL),
        ("A woman is talking on the phone.", "The woman is telling her sister about a new job.", NEUTRAL),
        ("Three people are standing in front of a church.", "The people are waiting for a wedding.", NEUTRAL),
        ("A man in a blue shirt is reading a newspaper.", "The man is reading about a football match.", NEUTRAL),
        ("A boy is swimming in a lake.", "The boy is asleep in his bed.", CONTRADICTION),
        ("An old man is sitting alone on a bench.", "A group of young women are dancing.", CONTRADICTION),
        ("A cat is sleeping on the sofa.", "The cat is running through the garden.", CONTRADICTION),
        ("The street is full of people.", "There is nobody on the street.", CONTRADICTION),
    ),
    "zh": (
        ("两只狗在田野里奔跑。", "有动物在户外。", ENTAILMENT),
        ("一位女士正在厨房里切西红柿。", "一位女士在准备食物。", ENTAILMENT),
        ("一名男子在舞台上弹吉他。", "有人在演奏乐器。", ENTAILMENT),
        ("四个男孩在沙滩上踢球。", "有几个男孩在玩球。", ENTAILMENT),
        ("一个女孩骑着自行车经过街道。", "女孩正要去看望她的姑姑。", NEUTRAL),
        ("一位女士正在打电话。", "她在跟妹妹说新工作的事。", NEUTRAL),
        ("三个人站在教堂前面。", "他们在等一场婚礼。", NEUTRAL),
        ("一个穿蓝衬衫的男人在看报纸。", "他在看足球比赛的报道。", NEUTRAL),
        ("一个男孩正在湖里游泳。", "男孩正躺在床上睡觉。", CONTRADICTION),
        ("一位老人独自坐在长椅上。", "长椅上没有人。", CONTRADICTION),
        ("一只猫在沙发上睡觉。", "猫正在花园里奔跑。", CONTRADICTION),
        ("街上到处都是人。", "街上一个人也没有。", CONTRADICTION),
    ),
}
"""Premise, hypothesis and label by language: twelve pairs, four a label."""
