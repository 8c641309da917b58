"""A browser without a window, driven over a pipe by the protocol of its developer tools.

Nothing but Chromium is needed: with ``--remote-debugging-pipe`` it reads commands from descriptor 3 and
answers on descriptor 4, JSON with a zero byte after each.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium: apt-get install chromium, or set UNBEND_CHROMIUM to one"


def chromium():
    """Return where Chromium is, or None."""
    return os.environ.get("UNBEND_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A page in a browser of its own. Requests to a network are refused and remembered."""

    def __init__(self, width=1280, height=800, *, dark=False, ratio=1):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = self._start(self._folder.name)
        self._ratio = ratio
        self._next, self._buffer = 0, b""
        self.requests, self.errors = [], []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        self._call(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )
        self.resize(width, height)
        self.prefer("dark" if dark else "light")

    def _start(self, folder):
        to_browser, ours_to = os.pipe()
        ours_from, from_browser = os.pipe()
        self._to, self._from = ours_to, ours_from

        def descriptors():
            # To high places first: the ends may be 3 and 4 themselves, the other way round.
            high = [os.dup2(to_browser, 103), os.dup2(from_browser, 104)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        options = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        options += ["--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage"]
        process = subprocess.Popen(
            [chromium(), *options, "--disable-gpu", "--disable-3d-apis"],
            preexec_fn=descriptors,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(10)
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    # The protocol ---------------------------------------------------------------------------------------

    def _call(self, method, **parameters):
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self, timeout=60):
        while b"\0" not in self._buffer:
            if not select.select([self._from], [], [], timeout)[0]:
                raise TimeoutError(f"the browser said nothing for {timeout} s")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        self._note(message)
        return message

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"][:100])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(
                str([part.get("value") or part.get("description") for part in parameters["args"]])
            )
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])

    # What a person does ---------------------------------------------------------------------------------

    def open(self, path, *, until="document.documentElement?.dataset.ready", timeout=15):
        """Open a file and wait; return the seconds until it is ready to be used."""
        began = time.perf_counter()
        self._call("Page.navigate", url=path.resolve().as_uri())
        self.wait(until, timeout)
        return time.perf_counter() - began

    def wait(self, condition, timeout=20):
        """Wait until an expression is true."""
        until = time.perf_counter() + timeout
        while not self.run(f"!!({condition})"):
            if time.perf_counter() > until:
                raise TimeoutError(f"{condition} is not true after {timeout} s; errors: {self.errors}")
            time.sleep(0.02)

    def run(self, code):
        """Return the value of an expression; promises are waited for."""
        found = self._call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"].get("description"))
        return found["result"].get("value")

    def resize(self, width, height):
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=self._ratio,
            mobile=False,
        )

    def prefer(self, scheme):
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def mouse(self, kind, x, y, **more):
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, places, *, shift=False, ctrl=False):
        """Press at the first place, go through the others, and let go at the last."""
        held = {"modifiers": 8 * shift + 2 * ctrl}
        pressed = {"button": "left", "buttons": 1, "clickCount": 1, **held}
        self.mouse("mouseMoved", *places[0])
        self.mouse("mousePressed", *places[0], **pressed)
        for place in places[1:]:
            self.mouse("mouseMoved", *place, **pressed)
        self.mouse("mouseReleased", *places[-1], **pressed)

    def key(self, name):
        self._call("Input.dispatchKeyEvent", type="keyDown", key=name, text=name if len(name) == 1 else "")
        self._call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def screenshot(self, path, whole=False):
        """Write what is seen, or the whole page, as a PNG."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path
