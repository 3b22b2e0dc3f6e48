# SPDX-License-Identifier: GPL-2.0
"""mosquitto, by MQTT 3.1.1."""

from programs.program import Mix, Program, Unexpected, read_some

# Types of packets, with the flags that they have to have.
CONNECT, PUBLISH, PUBREL, SUBSCRIBE, UNSUBSCRIBE, PINGREQ = 0x10, 0x30, 0x62, 0x82, 0xa2, 0xc0
AT_LEAST_ONCE, EXACTLY_ONCE, RETAIN = 2, 4, 1


def text(words):
    data = words.encode()
    return len(data).to_bytes(2, "big") + data


def packet(kind, body=b""):
    """Of less than 16384 bytes."""
    length = len(body)
    size = bytes([length]) if length < 128 else bytes([length & 0x7f | 0x80, length >> 7])
    return bytes([kind]) + size + body


def packets(data):
    """[type of each whole packet], or None with one that is not."""
    kinds, at = [], 0
    while at < len(data):
        if at + 2 > len(data):
            return None
        length, header = data[at + 1], 2
        if length >= 128:
            if at + 3 > len(data):
                return None
            length, header = length & 0x7f | data[at + 2] << 7, 3
        if at + header + length > len(data):
            return None
        kinds.append(data[at] & 0xf0)
        at += header + length
    return kinds


class MqttMix(Mix):
    # What comes back.
    answers = {"publish": [0x40], "publish to itself": [0x30, 0x40], "ping": [0xd0],
               "publish at most once": [0xd0], "subscribe": [0x90], "unsubscribe": [0xb0],
               "retain": [0x40], "publish large": [0x40], "publish exactly once": [0x50]}
    labels = list(answers)
    answers |= {"subscribe itself": [0x90]}

    def __init__(self, number, count, seed):
        super().__init__(number, count, seed)
        self.is_subscribed = False

    def choose(self, label):
        if label == "publish to itself" and not self.is_subscribed:
            self.is_subscribed = True
            return "subscribe itself"
        return label

    def request(self, label):
        self.turn += 1
        number = (self.turn % 65535 + 1).to_bytes(2, "big")
        topic = text(f"none/{self.number}/{self.turn % 50}")
        other = text(f"other/{self.number}/{self.turn % 50}")
        own = text(f"own/{self.number}")
        return {
            "publish": lambda: packet(PUBLISH | AT_LEAST_ONCE, topic + number + b"x" * 20),
            "publish to itself": lambda: packet(PUBLISH | AT_LEAST_ONCE, own + number + b"xxx"),
            "ping": lambda: packet(PINGREQ),
            "publish at most once": lambda: packet(PUBLISH, topic + b"x" * 20) + packet(PINGREQ),
            "subscribe": lambda: packet(SUBSCRIBE, number + other + b"\0"),
            "subscribe itself": lambda: packet(SUBSCRIBE, number + own + b"\0"),
            "unsubscribe": lambda: packet(UNSUBSCRIBE, number + other),
            "retain": lambda: packet(PUBLISH | AT_LEAST_ONCE | RETAIN,
                                     text(f"kept/{self.turn % 20}") + number + b"x" * 20),
            "publish large": lambda: packet(PUBLISH | AT_LEAST_ONCE, topic + number + b"x" * 4000),
            "publish exactly once": lambda: packet(PUBLISH | EXACTLY_ONCE, topic + number + b"xxx"),
        }[label]()

    def answer(self, connection, label):
        data = b""
        while (kinds := packets(data)) is None or len(kinds) < len(self.answers[label]):
            data += read_some(connection)
        if sorted(kinds) != self.answers[label]:
            raise Unexpected(f"{label}: {kinds}")
        if label == "publish exactly once":
            connection.sendall(packet(PUBREL, data[2:4]))
            if packets(read_some(connection)) != [0x70]:
                raise Unexpected(label)


class Server(Program):
    exe = "/usr/sbin/mosquitto"
    packages = ("mosquitto",)
    port = 7024

    def configure(self):
        (self.dir / "conf").write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n"
                                       "set_tcp_nodelay true\n")

    def command(self):
        return [self.exe, "-c", str(self.dir / "conf")]

    def connect(self):
        connection = super().connect()
        name = "%d" % connection.getsockname()[1]
        connection.sendall(packet(CONNECT, text("MQTT") + b"\4\2\0\0" + text(name)))
        if packets(read_some(connection)) != [0x20]:
            raise Unexpected("CONNECT")
        return connection

    def mix(self, number, count, seed):
        return MqttMix(number, count, seed)
