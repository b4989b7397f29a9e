"""The seeds' own lines, with only their imports changed: a program for each row of the table, and tab of a book.

Each says what it prints on two simulated GPUs and without GPUs; a line that ends in "…" goes on. What stands in a notebook's
cell as a value is printed. `ALONE` configure devices, so each has a process of its own; the others share one.
"""

import textwrap

TASK = "/job:localhost/replica:0/task:0/device:"
UNKNOWN = f"'{TASK}GPU:2': unknown device; the devices are {TASK}CPU:0"


def dedent(text):
    return textwrap.dedent(text).strip("\n") + "\n"


TF, TORCH = "from gantry.compat import tf\n", "from gantry.compat import torch\n"
JAX = "from gantry.compat import jax\nfrom gantry.compat.jax import numpy as jnp\n"
MX = "from gantry.compat.mx import np, npx\nnpx.set_np()\n"
MATRICES = """
a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
"""
PRODUCT = "Array([[22., 28.],\n       [49., 64.]], dtype=float32, device=%s)\n"


def indented(text, by):
    return textwrap.indent(text, " " * by)


# Of the book's chapter, what each tab defines before it asks.
BOOK = {
    "torch": TORCH + dedent("""
        def cpu():
            return torch.device('cpu')
        def gpu(i=0):
            return torch.device(f'cuda:{i}')
        def num_gpus():
            return torch.cuda.device_count()
        """),
    "tf": TF + dedent("""
        def cpu():
            return tf.device('/CPU:0')
        def gpu(i=0):
            return tf.device(f'/GPU:{i}')
        def num_gpus():
            return len(tf.config.experimental.list_physical_devices('GPU'))
        """),
    "mx": MX + dedent("""
        def cpu():
            return npx.cpu()
        def gpu(i=0):
            return npx.gpu(i)
        def num_gpus():
            return npx.num_gpus()
        """),
    "jax": JAX + dedent("""
        def cpu():
            return jax.devices('cpu')[0]
        def gpu(i=0):
            return jax.devices('gpu')[i]
        def num_gpus():
            try:
                return jax.device_count('gpu')
            except:
                return 0  # No GPU backend found
        """)}
for _tab in BOOK:
    BOOK[_tab] += dedent("""
        def try_gpu(i=0):
            if num_gpus() >= i + 1:
                return gpu(i)
            return cpu()
        def try_all_gpus():
            return [gpu(i) for i in range(num_gpus())]
        """)

# Row and tab: the lines, what they print on two GPUs, and without.
SHARED = {
    "02": (TF + """print("Num GPUs Available: ", len(tf.config.experimental.list_physical_devices('GPU')))\n""",
           "Num GPUs Available:  2\n", "Num GPUs Available:  0\n"),
    "05": (TF + "tf.debugging.set_log_device_placement(True)\n" + MATRICES + "c = tf.matmul(a, b)\nprint(c)\n"
           "tf.debugging.set_log_device_placement(False)\n",
           f"Executing op MatMul in device {TASK}GPU:0\n" + PRODUCT % "GPU:0",
           f"Executing op MatMul in device {TASK}CPU:0\n" + PRODUCT % "CPU:0"),
    "06": (TF + "tf.debugging.set_log_device_placement(True)\nwith tf.device('/CPU:0'):\n" + indented(MATRICES, 2) +
           "c = tf.matmul(a, b)\nprint(c)\ntf.debugging.set_log_device_placement(False)\n",
           f"Copying 24 bytes from {TASK}CPU:0 to {TASK}GPU:0\n" * 2 + f"Executing op MatMul in device {TASK}GPU:0\n" + PRODUCT % "GPU:0",
           f"Executing op MatMul in device {TASK}CPU:0\n" + PRODUCT % "CPU:0"),
    "13": (TF + "try:\n  with tf.device('/device:GPU:2'):\n" + indented(MATRICES + "c = tf.matmul(a, b)\n", 4) +
           "except RuntimeError as e:\n  print(e)\n", UNKNOWN + "…", UNKNOWN + "\n"),
    "14": (TF + "tf.config.set_soft_device_placement(True)\ntf.debugging.set_log_device_placement(True)\n"
           "with tf.device('/device:GPU:2'):\n" + indented(MATRICES, 2) + "  c = tf.matmul(a, b)\nprint(c)\n"
           "tf.debugging.set_log_device_placement(False)\ntf.config.set_soft_device_placement(False)\n",
           f"Executing op MatMul in device {TASK}GPU:0\n" + PRODUCT % "GPU:0",
           f"Executing op MatMul in device {TASK}CPU:0\n" + PRODUCT % "CPU:0"),
    "18": (TF + dedent("""
        gpus = tf.config.experimental.list_logical_devices('GPU')
        if gpus:
          c = []
          for gpu in gpus:
            with tf.device(gpu.name):
              a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
              b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
              c.append(tf.matmul(a, b))
          with tf.device('/CPU:0'):
            matmul_sum = tf.add_n(c)
          print(matmul_sum)
        """), "Array([[ 44.,  56.],\n       [ 98., 128.]], dtype=float32, device=CPU:0)\n", ""),
    # 24 to 26, but for what is of training: the batch is split, a tower each has a loss, and the mean is taken.
    "24": (TF + dedent("""
        images, num_gpus, losses = tf.constant([[1.0, 2.0], [3.0, 5.0]]), 2, []
        parts = tf.split(images, num_gpus)
        for d in range(num_gpus):
            with tf.device('/gpu:%s' % d if tf.config.list_physical_devices('GPU') else '/cpu:0'):
                losses.append(tf.reduce_mean(tf.nn.relu(parts[d])))
        mean_loss = tf.stack(axis=0, values=losses)
        mean_loss = tf.reduce_mean(mean_loss, 0)
        tf.print(mean_loss)
        print([loss.device for loss in losses])
        """), "2.75\n[GPU:0, GPU:1]\n", "2.75\n[CPU:0, CPU:0]\n"),
    "34": (TF + "gpus = tf.config.list_physical_devices('GPU')\nprint(gpus)\n",
           "[" + ", ".join(f"PhysicalDevice(name='/physical_device:GPU:{i}', device_type='GPU')" for i in range(2)) + "]\n", "[]\n"),
    # The sizes are a hundredth: the seed's product has 4 GB.
    "41": (TF + dedent("""
        with tf.device("/cpu:0"):
            tf.random.set_seed(0)
            a = tf.random.uniform((1000,100),minval = 0,maxval = 3.0)
            b = tf.random.uniform((100,1000),minval = 0,maxval = 3.0)
            c = a@b
            tf.print(tf.reduce_sum(tf.reduce_sum(c,axis = 0),axis=0))
        """), "22…", "22…"),
    "40": (TF + dedent("""
        try:
            with tf.device("/gpu:0"):
                tf.random.set_seed(0)
                a = tf.random.uniform((1000,100),minval = 0,maxval = 3.0)
                b = tf.random.uniform((100,1000),minval = 0,maxval = 3.0)
                c = a@b
                tf.print(tf.reduce_sum(tf.reduce_sum(c,axis = 0),axis=0))
        except RuntimeError as e: print(e)  # without a GPU
        """), "22…", f"'random_uniform' is placed on '{TASK}GPU:0': unknown device; the devices are {TASK}CPU:0\n"),
    "54 torch": (TORCH + "x = torch.tensor([1, 2, 3])\nprint(x.device)\n", f"{TASK}CPU:0\n", f"{TASK}CPU:0\n"),
    "54 mx": (MX + "x = np.array([1, 2, 3])\nprint(x.ctx)\n", f"{TASK}CPU:0\n", f"{TASK}CPU:0\n"),
    "54 jax": (JAX + "x = jnp.array([1, 2, 3])\nprint(x.device())\n", f"{TASK}GPU:0\n", f"{TASK}CPU:0\n"),
    "54 tf": (TF + "x = tf.constant([1, 2, 3])\nprint(x.device)\n", f"{TASK}GPU:0\n", f"{TASK}CPU:0\n"),
    "66 mx": (BOOK["mx"] + "gpus = [gpu(i) for i in range(min(1, num_gpus()))]\nbatch = [np.ones((2, 3)), np.ones(2)]\n"
              "if gpus:\n    batch = [a.as_in_context(gpus[0]) for a in batch]\nprint([a.ctx for a in batch], isinstance(batch[0], np.ndarray))\n",
              "[GPU:0, GPU:0] True\n", "[CPU:0, CPU:0] True\n"),
}

NAMES = "print([cpu(), gpu(), gpu(1)])\n"
for _tab, _lines in BOOK.items():
    # JAX lists what there is, so without GPUs it has no gpu().
    SHARED[f"51 {_tab}"] = (_lines + NAMES, "[CPU:0, GPU:0, GPU:1]\n",
                            "[CPU:0, GPU:0, GPU:1]\n") if _tab != "jax" else (
        _lines + "try: " + NAMES + "except RuntimeError as e: print(e)\n", "[CPU:0, GPU:0, GPU:1]\n", "Unknown backend gpu…")
    SHARED[f"52 {_tab}"] = (_lines + "print(num_gpus())\n", "2\n", "0\n")
    SHARED[f"53 {_tab}"] = (_lines + "print([try_gpu(), try_gpu(10), try_all_gpus()])\n",
                            "[GPU:0, CPU:0, [GPU:0, GPU:1]]\n", "[CPU:0, CPU:0, []]\n")

# Arrays of the chapter, in each tab: rows 56, 58, 59, 60 and 61.
_ONES = "Array([[1., 1., 1.],\n       [1., 1., 1.]], dtype=float32, device=%s)\n"
_ARRAYS = {
    "torch": ("X = torch.ones(2, 3, device=try_gpu())", "Y = torch.rand(2, 3, device=try_gpu(1))",
              "Z = X.cuda(1)", "print(Z.cuda(1) is Z)", "True\n", "GPU:1"),
    "mx": ("X = np.ones((2, 3), ctx=try_gpu())", "Y = np.random.uniform(size=(2, 3), ctx=try_gpu(1))",
           "Z = X.copyto(try_gpu(1))", "print(Z.as_in_ctx(try_gpu(1)) is Z)", "True\n", "GPU:1"),
    "jax": ("X = jax.device_put(jnp.ones((2, 3)), try_gpu())",
            "Y = jax.device_put(jax.random.uniform(jax.random.PRNGKey(0), (2, 3)), try_gpu(1))",
            "Z = jax.device_put(X, try_gpu(1))", "Z2 = jax.device_put(Z, try_gpu(1))\nprint(Z2 is Z)", "False\n", "GPU:1"),
    "tf": ("with try_gpu():\n    X = tf.ones((2, 3))", "with try_gpu(1):\n    Y = tf.random.uniform((2, 3))",
           "with try_gpu(1):\n    Z = X", "with try_gpu(1):\n    Z2 = Z\nprint(Z2 is Z)", "True\n", "GPU:0"),
}
for _tab, (_x, _y, _z, _same, _is_same, _at) in _ARRAYS.items():
    SHARED[f"56 {_tab}"] = (BOOK[_tab] + f"{_x}\nprint(X)\n", _ONES % "GPU:0", _ONES % "CPU:0")
    SHARED[f"58 {_tab}"] = (BOOK[_tab] + f"{_y}\nprint(Y.shape, repr(Y.device))\n", "(2, 3) GPU:1\n", "(2, 3) CPU:0\n")
    _without = _z if _tab != "torch" else "Z = X.cuda(1) if num_gpus() > 1 else X"  # which PyTorch refuses, too
    SHARED[f"59 {_tab}"] = (BOOK[_tab] + f"{_x}\n{_without}\nprint(X)\nprint(Z)\n", _ONES % "GPU:0" + _ONES % _at, _ONES % "CPU:0" * 2)
    # Where the operands are.
    SHARED[f"60 {_tab}"] = (BOOK[_tab] + f"{_x}\n{_y}\n{_without}\nwith try_gpu(1):\n    W = Y + Z\nprint(W.shape, repr(W.device), repr((Y + Y).device))\n",
                            "(2, 3) GPU:1 GPU:1\n", "(2, 3) CPU:0 CPU:0\n")
    _again = _same if _tab != "torch" else "print((Z.cuda(1) if num_gpus() > 1 else Z.cpu()) is Z)"
    SHARED[f"61 {_tab}"] = (BOOK[_tab] + f"{_x}\n{_without}\n{_again}\n", _is_same, _is_same)

GROWTH = TF + dedent("""
    gpus = tf.config.experimental.list_physical_devices('GPU')
    if gpus:
      try:
        for gpu in gpus:
          tf.config.experimental.set_memory_growth(gpu, True)
        logical_gpus = tf.config.experimental.list_logical_devices('GPU')
        print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
      except RuntimeError as e:
        print(e)
    """)
USE = "import gantry as gt\nfor gpu in gt.gpus(): gt.ones(256, device=gpu)\nprint([gt.memory(str(gpu)).limit for gpu in gt.gpus()])\n"
# The fractions are of simulated devices of 16 GiB.
GIB = 1 << 30

ALONE = {
    "08": (TF + dedent("""
        gpus = tf.config.experimental.list_physical_devices('GPU')
        if gpus:
          try:
            tf.config.experimental.set_visible_devices(gpus[0], 'GPU')
            logical_gpus = tf.config.experimental.list_logical_devices('GPU')
            print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPU")
          except RuntimeError as e:
            print(e)
        """), "2 Physical GPUs, 1 Logical GPU\n", ""),
    "09": (GROWTH, "2 Physical GPUs, 2 Logical GPUs\n", ""),
    "11": (TF + dedent("""
        gpus = tf.config.experimental.list_physical_devices('GPU')
        if gpus:
          try:
            tf.config.experimental.set_virtual_device_configuration(
                gpus[0],
                [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)])
            logical_gpus = tf.config.experimental.list_logical_devices('GPU')
            print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
          except RuntimeError as e:
            print(e)
        """), "2 Physical GPUs, 2 Logical GPUs\n", ""),
    "15": (TF + dedent("""
        gpus = tf.config.experimental.list_physical_devices('GPU')
        if gpus:
          try:
            tf.config.experimental.set_virtual_device_configuration(
                gpus[0],
                [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024),
                 tf.config.experimental.VirtualDeviceConfiguration(memory_limit=1024)])
            logical_gpus = tf.config.experimental.list_logical_devices('GPU')
            print(len(gpus), "Physical GPU,", len(logical_gpus), "Logical GPUs")
          except RuntimeError as e:
            print(e)
        """), "2 Physical GPU, 3 Logical GPUs\n", ""),
    "20": (TF + dedent("""
        config = tf.ConfigProto()
        config.gpu_options.per_process_gpu_memory_fraction = 0.5
        config.gpu_options.allow_growth = True
        session = tf.Session(config=config)
        """) + USE, f"[{8 * GIB}, {8 * GIB}]\n", "[]\n"),
    "21": (TF + dedent("""
        config = tf.ConfigProto()
        config.gpu_options.allow_growth = True
        session = tf.Session(config=config)
        print(session.run(tf.constant([1.0, 2.0])).tolist())
        """), "[1.0, 2.0]\n", "[1.0, 2.0]\n"),
    "22": (TF + dedent("""
        gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.25)
        sess = tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))
        """) + USE, f"[{4 * GIB}, {4 * GIB}]\n", "[]\n"),
    "39": (TF + dedent("""
        gpus = tf.config.list_physical_devices("GPU")
        if gpus:
            gpu0 = gpus[0]
            tf.config.experimental.set_memory_growth(gpu0, True)
            # tf.config.experimental.set_virtual_device_configuration(gpu0,
            #      [tf.config.experimental.VirtualDeviceConfiguration(memory_limit=4096)])
            tf.config.set_visible_devices([gpu0],"GPU")
        print(len(tf.config.list_logical_devices("GPU")))
        """), "1\n", "0\n"),
    # nvidia-smi, before anything is used.
    "50": ("import gantry as gt\ntry:\n    found = gt.memory('GPU:0')\n    print(found.used, found.total, found.free)\n"
           "except RuntimeError as e: print(e)\nprint(gt.memory('CPU:0').total > 0)\n",
           f"0 {16 * GIB} {16 * GIB}\nTrue\n", f"'{TASK}GPU:0': unknown device; the devices are {TASK}CPU:0\nTrue\n"),
    "55": ("import gantry as gt\ngt.config(copies='explicit')\nx = gt.ones(2, device=gt.try_gpu())\ny = gt.ones(2, device=gt.try_gpu(1))\n"
           "try: print((x + y).numpy())\nexcept RuntimeError as e: print(e)\n",
           f"<string>:5:1: 'AddV2' runs on '{TASK}GPU:0', and copies are explicit…", "[2. 2.]\n"),
    # What leaves a GPU says so.
    "62": ("import numpy as np\nimport gantry as gt\ngt.config(copies='explicit')\nx = gt.ones(2, device=gt.try_gpu())\n"
           "for call in (print, str, np.asarray, '{}'.format):\n    try: call(x)\n    except RuntimeError as e: print(e)\n"
           "print(x.numpy(), x.cpu(), x.tolist())\n",
           "".join(f"{what} copies float32[2] from GPU:0 to the host, and copies are explicit; say x.numpy() or x.cpu()\n"
                   for what in ("print", "print", "NumPy", "print")) +
           "[1. 1.] Array([1., 1.], dtype=float32, device=CPU:0) [1.0, 1.0]\n",
           "Array([1., 1.], dtype=float32, device=CPU:0)\n[1. 1.] Array([1., 1.], dtype=float32, device=CPU:0) [1.0, 1.0]\n"),
}
