"""The seeds' own lines about training, with only their imports changed: see seed_lines.py. Data stand in front of them, and what is printed
behind them is what the tests look at."""

from tests.seed_lines import TASK, dedent

# Rows 16 and 17: a model of one number, mirrored.
MIRRORED = dedent("""
    import numpy as np
    from gantry.compat import tf
    tf.debugging.set_log_device_placement(True)
    gpus = tf.config.list_logical_devices('GPU')
    if gpus:
        strategy = tf.distribute.MirroredStrategy(gpus)
        with strategy.scope():
            inputs = tf.keras.layers.Input(shape=(1,))
            predictions = tf.keras.layers.Dense(1)(inputs)
            model = tf.keras.models.Model(inputs=inputs, outputs=predictions)
            model.compile(loss='mse',
                          optimizer=tf.keras.optimizers.SGD(learning_rate=0.2))
    tf.debugging.set_log_device_placement(False)
    x = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
    rows = [(shard.begin, shard.rows) for shard in strategy.shards(10)]
    begin = model.get_weights()
    history = model.fit(x, 3 * x + 1, batch_size=10, epochs=1, verbose=0, shuffle=False)
    after = [each.tolist() for each in model.get_weights()]
    """)

# Rows 24 to 28: towers, whose gradients are averaged on another device. `VARIABLES` is where variables are, none: on the first tower's.
TOWERS = dedent("""
    import contextlib
    import numpy as np
    from gantry.compat import tf
    r = np.random.default_rng(0)
    X = r.normal(size=(48, 8)).astype(np.float32)
    Y = (X @ r.normal(size=(8, 3))).argmax(1).astype(np.int32)

    def average_gradients(tower_grads):
        average_grads = []
        for grad_and_vars in zip(*tower_grads):
            grads = []
            for g, _ in grad_and_vars:
                expanded_g = tf.expand_dims(g, 0)
                grads.append(expanded_g)
            grad = tf.concat(axis=0, values=grads)
            grad = tf.reduce_mean(grad, 0)
            v = grad_and_vars[0][1]
            average_grads.append((grad, v))
        return average_grads

    def model(x, y):
        with tf.device(VARIABLES) if VARIABLES else contextlib.nullcontext():
            w = tf.get_variable("w", [8, 3], initializer=tf.truncated_normal_initializer(stddev=0.1))
            b = tf.get_variable("b", [3], initializer=tf.constant_initializer(0.0))
        if NORMALISED:
            x = tf.layers.batch_normalization(x, training=True, name="bn")
        logits = tf.nn.bias_add(tf.matmul(x, w), b)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))

    with tf.device('/cpu:0'):
        iterator = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(12).make_one_shot_iterator()
        images, labels = iterator.get_next()
        images = tf.split(images, num_gpus)
        labels = tf.split(labels, num_gpus)
        global_step = tf.get_variable('global_step', [], dtype=tf.int64, initializer=tf.constant_initializer(0), trainable=False)
        lr = tf.train.exponential_decay(0.5, global_step, 2, 0.9, staircase=True)
        opt = tf.train.GradientDescentOptimizer(lr)
        tower_grads, losses = [], []
        for d in range(num_gpus):
            with tf.device('/gpu:%s' % d):
                with tf.name_scope('%s_%s' % ('tower', d)):
                    with tf.variable_scope("loss"):
                        loss = model(images[d], labels[d])
                    tf.get_variable_scope().reuse_variables()
                    grads = opt.compute_gradients(loss)
                    tower_grads.append(grads)
                    losses.append(loss)
        mean_loss = tf.stack(axis=0, values=losses)
        mean_loss = tf.reduce_mean(mean_loss, 0)
        mean_grads = average_gradients(tower_grads)
        update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(update_ops):
            train_op = opt.apply_gradients(mean_grads, global_step=global_step)
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = False
    sess = tf.Session(config=config)
    sess.run(tf.global_variables_initializer())
    own = dict(zip([v.name for v in tf.trainable_variables()], sess.run(tf.trainable_variables())))
    seen = []
    for step in range(6):
        _, loss_value = sess.run([train_op, mean_loss])
        seen.append(float(loss_value))
    graph = tf.get_default_graph()
    """)

# Rows 38 and 43 to 49; TEXTS is a file as Keras's reuters.npz is.
REUTERS = dedent("""
    from gantry.compat import tf
    from gantry.compat.tf.keras import *
    MAX_LEN = 300
    BATCH_SIZE = 32
    (x_train,y_train),(x_test,y_test) = datasets.reuters.load_data(TEXTS)
    x_train = preprocessing.sequence.pad_sequences(x_train,maxlen=MAX_LEN)
    x_test = preprocessing.sequence.pad_sequences(x_test,maxlen=MAX_LEN)
    MAX_WORDS = x_train.max()+1
    CAT_NUM = y_train.max()+1
    ds_train = tf.data.Dataset.from_tensor_slices((x_train,y_train)) \\
              .shuffle(buffer_size = 1000).batch(BATCH_SIZE) \\
              .prefetch(tf.data.experimental.AUTOTUNE).cache()
    ds_test = tf.data.Dataset.from_tensor_slices((x_test,y_test)) \\
              .shuffle(buffer_size = 1000).batch(BATCH_SIZE) \\
              .prefetch(tf.data.experimental.AUTOTUNE).cache()
    tf.keras.backend.clear_session()
    def create_model():
        model = models.Sequential()
        model.add(layers.Embedding(MAX_WORDS,7,input_length=MAX_LEN))
        model.add(layers.Conv1D(filters = 64,kernel_size = 5,activation = "relu"))
        model.add(layers.MaxPool1D(2))
        model.add(layers.Conv1D(filters = 32,kernel_size = 3,activation = "relu"))
        model.add(layers.MaxPool1D(2))
        model.add(layers.Flatten())
        model.add(layers.Dense(CAT_NUM,activation = "softmax"))
        return(model)
    def compile_model(model):
        model.compile(optimizer=optimizers.Nadam(),
                    loss=losses.SparseCategoricalCrossentropy(from_logits=True),
                    metrics=[metrics.SparseCategoricalAccuracy(),metrics.SparseTopKCategoricalAccuracy(5)])
        return(model)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = create_model()
        model.summary()
        model = compile_model(model)
    history = model.fit(ds_train,validation_data = ds_test,epochs = 2)
    """)

SUMMARY = """\
Model: "sequential"
_________________________________________________________________
Layer (type)                 Output Shape              Param #   
=================================================================
embedding (Embedding)        (None, 300, 7)            %d
_________________________________________________________________
conv1d (Conv1D)              (None, 296, 64)           2304      
_________________________________________________________________
max_pooling1d (MaxPooling1D) (None, 148, 64)           0         
_________________________________________________________________
conv1d_1 (Conv1D)            (None, 146, 32)           6176      
_________________________________________________________________
max_pooling1d_1 (MaxPooling1 (None, 73, 32)            0         
_________________________________________________________________
flatten (Flatten)            (None, 2336)              0         
_________________________________________________________________
dense (Dense)                (None, 46)                107502    
=================================================================
"""

# Rows 63 to 65: by tab the lines, and what they print on two GPUs.
GPU0 = TASK + "GPU:0"
NETWORKS = {
    "torch": ("""
        from gantry.compat import torch
        from gantry.compat.torch import nn
        def try_gpu(i=0):
            return torch.device(f'cuda:{i}') if torch.cuda.device_count() >= i + 1 else torch.device('cpu')
        X = torch.ones(2, 3, device=try_gpu())
        net = nn.Sequential(nn.LazyLinear(1))
        net = net.to(device=try_gpu())
        print(net(X).shape, net(X).device)
        print(net[0].weight.data.device)
        """, f"(2, 1) {GPU0}\n{GPU0}\n"),
    "mxnet": ("""
        from gantry.compat.mx import np, npx
        from gantry.compat.mx.gluon import nn
        npx.set_np()
        X = np.ones((2, 3), ctx=npx.gpu(0))
        net = nn.Sequential()
        net.add(nn.Dense(1))
        net.initialize(ctx=npx.gpu(0))
        print(net(X).shape, net(X).ctx)
        print(net[0].weight.data().ctx)
        """, f"(2, 1) {GPU0}\n{GPU0}\n"),
    "jax": ("""
        from gantry.compat import jax
        from gantry.compat.jax import random
        from gantry.compat.flax import linen as nn
        net = nn.Sequential([nn.Dense(1)])
        key1, key2 = random.split(random.PRNGKey(0))
        x = random.normal(key1, (10,))
        params = net.init(key2, x)  # Initialization call
        print(net.apply(params, x).shape, net.apply(params, x).device())
        print(jax.tree_util.tree_map(lambda x: x.device(), params))
        """, f"(1,) {GPU0}\nFrozenDict({{\n    params: {{\n        layers_0: {{\n            bias: GPU:0,\n            kernel: GPU:0,\n"
             "        },\n    },\n})\n"),
    "tensorflow": ("""
        from gantry.compat import tf
        def try_gpu(i=0):
            return tf.device(f'/GPU:{i}')
        with try_gpu():
            X = tf.ones((2, 3))
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            net = tf.keras.models.Sequential([
                tf.keras.layers.Dense(1)])
        print(net(X).shape, net(X).device)
        print(net.layers[0].weights[0].device, net.layers[0].weights[1].device)
        """, f"INFO:tensorflow:Using MirroredStrategy with devices ('{GPU0}', '{TASK}GPU:1')\n(2, 1) {GPU0}\n{GPU0} {GPU0}\n"),
}

# Row 66: the book's trainers on a GPU, and what each tab has instead of `to`.
_TRAINER = """
import numpy as onp
A = onp.random.default_rng(0).normal(size=(64, 2)).astype('f')
B = (A @ onp.float32([[2], [-3.4]]) + 4.2).astype('f')

@d2l.add_to_class(d2l.Trainer)
def __init__(self, max_epochs, num_gpus=0, gradient_clip_val=0):
    self.save_hyperparameters()
    self.gpus = [d2l.gpu(i) for i in range(min(num_gpus, d2l.num_gpus()))]

class Data(d2l.DataModule):
    def __init__(self, batch_size=16):
        super().__init__()
        self.save_hyperparameters()
        self.X, self.y = A, B
    def get_dataloader(self, train):
        return self.get_tensorloader((self.X, self.y), train)

class LinearRegression(d2l.Module):
    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
%s
model = LinearRegression(lr=0.1)
trainer = d2l.Trainer(max_epochs=8, num_gpus=1, gradient_clip_val=100)
trainer.fit(model, Data())
x, y = model.board.lines["val_loss"][-1]
print(model.board.xlim, x, y < 0.1, len(model.board.lines["train_loss"]), trainer.gpus)
"""
_PREPARE = """
@d2l.add_to_class(d2l.Trainer)
def prepare_batch(self, batch):
    if self.gpus:
        batch = [%s for a in batch]
    return batch

@d2l.add_to_class(d2l.Trainer)
def prepare_model(self, model):
    model.trainer = self
    model.board.xlim = [0, self.max_epochs]
    if self.gpus:
        %s
    self.model = model
"""
BOOK = {
    "torch": "from gantry.compat.d2l import torch as d2l\nfrom gantry.compat.torch import nn\n" +
             _PREPARE % ("a.to(self.gpus[0])", "model.to(self.gpus[0])") + _TRAINER %
             "        self.net = nn.LazyLinear(1)\n    def loss(self, y_hat, y):\n        return nn.MSELoss()(y_hat, y)\n" +
             "print(model.net.weight.device)\n",
    "mxnet": """
from gantry.compat.d2l import mxnet as d2l
from gantry.compat.mx import autograd, gluon, np
from gantry.compat.mx.gluon import nn

@d2l.add_to_class(d2l.Module)
def set_scratch_params_device(self, device):
    for attr in dir(self):
        a = getattr(self, attr)
        if isinstance(a, np.ndarray):
            with autograd.record():
                setattr(self, attr, a.as_in_ctx(device))
            getattr(self, attr).attach_grad()
        if isinstance(a, d2l.Module):
            a.set_scratch_params_device(device)
        if isinstance(a, list):
            for elem in a:
                elem.set_scratch_params_device(device)
""" + _PREPARE % ("a.as_in_context(self.gpus[0])",
                  "model.collect_params().reset_ctx(self.gpus[0])\n        model.set_scratch_params_device(self.gpus[0])") + _TRAINER %
             ("        self.net = nn.Dense(1)\n        self.net.initialize()\n        self.scratch = np.ones(2)\n"
              "    def loss(self, y_hat, y):\n"
              "        return gluon.loss.L2Loss()(y_hat, y).mean()\n") +
             "print(model.net.weight.data().ctx, model.scratch.ctx, model.scratch.grad)\n",
    "jax": "from gantry.compat.d2l import jax as d2l\nfrom gantry.compat import jax\nfrom gantry.compat.jax import numpy as jnp\n"
           "from gantry.compat.flax import linen as nn\n" + _PREPARE % ("jax.device_put(a, self.gpus[0])", "pass") + _TRAINER %
           ("        self.net = nn.Dense(1)\n    def loss(self, params, X, y):\n        difference = self.apply(params, X) - y\n"
            "        return jnp.mean(difference * difference)\n") + "print(trainer.params['params']['kernel'].device())\n",
    "tensorflow": "from gantry.compat.d2l import tensorflow as d2l\nfrom gantry.compat import tf\n" + _TRAINER %
                  ("        self.net = tf.keras.layers.Dense(1)\n    def loss(self, y_hat, y):\n"
                   "        return tf.keras.losses.MeanSquaredError()(y, y_hat)\n") + "print(model.net.kernel.device)\n"}
