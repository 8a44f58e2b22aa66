from tpharness import assert_same_thread, assert_valid, fold


def test_both_sides_hold_the_same_thread(tpharness_app):
    stream = tpharness_app.client.post("/chats/whole", json={"text": "How warm is it?"})
    thread = tpharness_app.client.get("/chats/whole")
    assert_same_thread(thread.json(), fold("How warm is it?", stream.content), mode="content")


def test_both_sides_keep_the_same_after_stop(tpharness_app):
    received = b""
    with tpharness_app.client.stream("POST", "/chats/stopped", json={"text": "How warm is it?"}) as stream:
        for data in stream.iter_bytes():
            received += data
            if b"eighteen" in data:  # in the middle of the second answer
                tpharness_app.client.post("/chats/stopped/stop")
    thread = tpharness_app.client.get("/chats/stopped").json()
    assert_valid(thread)
    assert_same_thread(thread, fold("How warm is it?", received), mode="content")
