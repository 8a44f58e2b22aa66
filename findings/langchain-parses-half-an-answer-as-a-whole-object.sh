#!/usr/bin/env bash
# langchain-core 1.8.3 (Python): the parsers of JSON answers accept an answer that was cut, and validate what they closed.
#
# A chain asks for JSON and reads it with `PydanticOutputParser`. The model means {"to": "Ann", "amount": 125};
# its answer ends at its token limit after `{"to": "Ann", "amount": 12`.
# Expected: OutputParserException, as for other text that is not JSON.
# Seen: `invoke` returns Transfer(to='Ann', amount=12), an object that no one can tell from a whole one; nothing is raised
# and no warning is written. `JsonOutputParser` does the same. A cut before a required field is refused, so that what
# passes is what was cut late: in the last number, text or list.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check langchain-core==1.8.3 pydantic==2.14.0

cat > parse.py <<'PY'
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from pydantic import BaseModel


class Transfer(BaseModel):
    to: str
    amount: int


for text in ('{"to": "Ann", "amount": 12', '{"to": "Ann", "am', "Ann gets 12"):
    for parser in (PydanticOutputParser(pydantic_object=Transfer), JsonOutputParser()):
        answer = AIMessage(text, response_metadata={"finish_reason": "length"})
        try:
            seen = repr((GenericFakeChatModel(messages=iter([answer])) | parser).invoke("Pay 125 to Ann."))
        except OutputParserException:
            seen = "refused"
        print(f"{text}: {type(parser).__name__} {seen}")
PY

env/bin/python -W ignore parse.py > seen.txt
cat > described.txt <<'TEXT'
{"to": "Ann", "amount": 12: PydanticOutputParser Transfer(to='Ann', amount=12)
{"to": "Ann", "amount": 12: JsonOutputParser {'to': 'Ann', 'amount': 12}
{"to": "Ann", "am: PydanticOutputParser refused
{"to": "Ann", "am: JsonOutputParser {'to': 'Ann'}
Ann gets 12: PydanticOutputParser refused
Ann gets 12: JsonOutputParser refused
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
