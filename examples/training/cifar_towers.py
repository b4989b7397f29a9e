#!/usr/bin/python3
"""Classifies small images on several GPUs as TensorFlow 1's cifar10_multi_gpu_train.py does: a tower on each GPU, variables on the CPU,
gradients averaged there, moving averages of the variables, a penalty on weights, a rate that falls.

The program is that file's, shortened, by the names of gantry.compat.tf.v1: of `import tensorflow as tf` the import alone is another.

Usage: cifar_towers.py [--data DIR] [--num-gpus N] [--max-steps N] [--batch-size N] [--train-dir DIR]
--data DIR  has data_batch_1.bin and others of CIFAR-10's binary version; without it images are made: ten kinds of stripes under noise
GANTRY_DEVICES=GPU:0,GPU:1 GANTRY_SIMULATE=1 has two GPUs
"""

import argparse
import pathlib
import re
import sys
import time

import numpy as np

from gantry.compat.tf import v1 as tf

IMAGE_SIZE, NUM_CLASSES = 24, 10
MOVING_AVERAGE_DECAY = 0.9999
NUM_EPOCHS_PER_DECAY, LEARNING_RATE_DECAY_FACTOR, INITIAL_LEARNING_RATE = 350.0, 0.1, 0.1
TOWER_NAME = 'tower'


# ---- data ----

def images_of(folder, count=2048):
    """Images f32[n, 24, 24, 3], each with the mean 0 and the deviation 1, and labels i32[n]."""
    if folder is None:
        random = np.random.default_rng(0)
        labels = random.integers(0, NUM_CLASSES, count).astype(np.int32)
        y, x = np.mgrid[:IMAGE_SIZE, :IMAGE_SIZE]
        angle = np.pi * labels[:, None, None] / NUM_CLASSES
        stripes = np.sin((x * np.cos(angle) + y * np.sin(angle)) * 0.9 + random.uniform(0, 6, (count, 1, 1)))
        images = stripes[..., None] + 0.5 * random.standard_normal((count, IMAGE_SIZE, IMAGE_SIZE, 3))
    else:
        files = sorted(pathlib.Path(folder).glob("data_batch_*.bin"))
        rows = np.concatenate([np.fromfile(file, np.uint8).reshape(-1, 3073) for file in files])
        labels = rows[:, 0].astype(np.int32)
        images = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)[:, 4:28, 4:28].astype(np.float64)
    images = images - images.mean((1, 2, 3), keepdims=True)
    return (images / images.std((1, 2, 3), keepdims=True)).astype(np.float32), labels


# ---- the model ----

def _variable_on_cpu(name, shape, initializer):
    with tf.device('/cpu:0'):
        return tf.get_variable(name, shape, initializer=initializer, dtype=tf.float32)


def _variable_with_weight_decay(name, shape, stddev, wd):
    var = _variable_on_cpu(name, shape, tf.truncated_normal_initializer(stddev=stddev, dtype=tf.float32))
    if wd is not None:
        weight_decay = tf.multiply(tf.nn.l2_loss(var), wd, name='weight_loss')
        tf.add_to_collection('losses', weight_decay)
    return var


def _conv(scope, inputs, shape, bias):
    with tf.variable_scope(scope):
        kernel = _variable_with_weight_decay('weights', shape, stddev=5e-2, wd=None)
        conv = tf.nn.conv2d(inputs, kernel, [1, 1, 1, 1], padding='SAME')
        biases = _variable_on_cpu('biases', [shape[-1]], tf.constant_initializer(bias))
        return tf.nn.relu(tf.nn.bias_add(conv, biases))


def _local(scope, inputs, size, wd=0.004):
    with tf.variable_scope(scope):
        weights = _variable_with_weight_decay('weights', [inputs.shape[1], size], stddev=0.04, wd=wd)
        biases = _variable_on_cpu('biases', [size], tf.constant_initializer(0.1))
        return tf.nn.relu(tf.matmul(inputs, weights) + biases)


def inference(images):
    """Logits of images."""
    conv1 = _conv('conv1', images, [5, 5, 3, 64], 0.0)
    pool1 = tf.nn.max_pool(conv1, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding='SAME')
    norm1 = tf.nn.lrn(pool1, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    conv2 = _conv('conv2', norm1, [5, 5, 64, 64], 0.1)
    norm2 = tf.nn.lrn(conv2, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    pool2 = tf.nn.max_pool(norm2, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding='SAME')
    local3 = _local('local3', tf.reshape(pool2, [images.shape[0], -1]), 384)
    local4 = _local('local4', local3, 192)
    with tf.variable_scope('softmax_linear'):
        weights = _variable_with_weight_decay('weights', [192, NUM_CLASSES], stddev=1 / 192.0, wd=None)
        biases = _variable_on_cpu('biases', [NUM_CLASSES], tf.constant_initializer(0.0))
        return tf.matmul(local4, weights) + biases


def tower_loss(scope, images, labels):
    """The loss of one tower: the mean cross-entropy and the penalties that were added in its scope."""
    logits = inference(images)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection('losses', tf.reduce_mean(cross_entropy))
    return tf.add_n(tf.get_collection('losses', scope))


def average_gradients(tower_grads):
    """The mean of each variable's gradients over the towers: where towers meet."""
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = []
        for g, _ in grad_and_vars:
            expanded_g = tf.expand_dims(g, 0)
            grads.append(expanded_g)
        grad = tf.concat(axis=0, values=grads)
        grad = tf.reduce_mean(grad, 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


# ---- training ----

def train(flags, images, labels):
    """Makes the graph and runs the steps; gives the losses."""
    with tf.Graph().as_default(), tf.device('/cpu:0'):
        global_step = tf.get_variable('global_step', [], initializer=tf.constant_initializer(0), trainable=False)
        decay_steps = int(len(images) / flags.batch_size / flags.num_gpus * NUM_EPOCHS_PER_DECAY)
        lr = tf.train.exponential_decay(INITIAL_LEARNING_RATE, global_step, decay_steps, LEARNING_RATE_DECAY_FACTOR, staircase=True)
        opt = tf.train.GradientDescentOptimizer(lr)
        rows = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images)).repeat()
        iterator = rows.batch(flags.batch_size * flags.num_gpus).make_one_shot_iterator()
        image_batch, label_batch = iterator.get_next()
        image_parts, label_parts = tf.split(image_batch, flags.num_gpus), tf.split(label_batch, flags.num_gpus)
        tower_grads, losses = [], []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(flags.num_gpus):
                with tf.device('/gpu:%d' % i):
                    with tf.name_scope('%s_%d' % (TOWER_NAME, i)) as scope:
                        loss = tower_loss(scope, image_parts[i], label_parts[i])
                        tf.get_variable_scope().reuse_variables()
                        grads = opt.compute_gradients(loss)
                        tower_grads.append(grads)
                        losses.append(loss)
        grads = average_gradients(tower_grads)
        apply_gradient_op = opt.apply_gradients(grads, global_step=global_step)
        variable_averages = tf.train.ExponentialMovingAverage(MOVING_AVERAGE_DECAY, global_step)
        variables_averages_op = variable_averages.apply(tf.trainable_variables())
        train_op = tf.group(apply_gradient_op, variables_averages_op)
        mean_loss = tf.reduce_mean(tf.stack(axis=0, values=losses), 0)
        saver = tf.train.Saver(tf.global_variables())
        sess = tf.Session(config=tf.ConfigProto(allow_soft_placement=False))
        sess.run(tf.global_variables_initializer())
        seen = []
        for step in range(flags.max_steps):
            start_time = time.time()
            _, loss_value = sess.run([train_op, mean_loss])
            duration = time.time() - start_time
            assert not np.isnan(loss_value), 'Model diverged with loss = NaN'
            seen.append(float(loss_value))
            if step % 10 == 0:
                examples_per_sec = flags.batch_size * flags.num_gpus / duration
                print('step %d, loss = %.2f (%.1f examples/sec; %.3f sec/batch)' % (step, loss_value, examples_per_sec, duration),
                      flush=True)
        if flags.train_dir:
            print('wrote ' + saver.save(sess, str(pathlib.Path(flags.train_dir) / 'model.safetensors')))
        names = [re.sub('%s_[0-9]*/' % TOWER_NAME, '', variable.name) for variable in tf.trainable_variables()]
        print('%d variables, %s to %s, on %s' % (len(names), names[0], names[-1], tf.trainable_variables()[0].device))
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--num-gpus", type=int, default=2)
    parser.add_argument("--max-steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=32, help="of each tower")
    parser.add_argument("--train-dir", help="where the variables are written in the end")
    flags = parser.parse_args()
    images, labels = images_of(flags.data)
    losses = train(flags, images, labels)
    print('loss of the first and the last ten steps: %.2f, %.2f' % (np.mean(losses[:10]), np.mean(losses[-10:])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
