// A batch that is too small for its replicas leaves devices idle, which is remarked; and the reason
// of what --replicate places names the flag, not a place in the file.

// RUN: gantry explain %s --devices=CPU:0,GPU:0,GPU:1 --simulate --replicate GPU:0,GPU:1 --dim x:0=1 > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=IDLE < %t.err
// RUN: FileCheck %s --check-prefix=WHY < %t.out
// IDLE: gantry: remark: --replicate: a batch of 1 over 2 replicas leaves GPU:1 without work; give fewer devices, or a larger batch
// WHY: GPU:0 {{ *}}requested: asked for by --replicate
// WHY-NOT: asked for at

// RUN: gantry explain %s --devices=CPU:0,GPU:0,GPU:1 --simulate --replicate GPU:0,GPU:1 --dim x:0=2 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: gantry explain %s --devices=CPU:0,GPU:0,GPU:1 --simulate --replicate GPU:0=1,GPU:1=0 --dim x:0=1 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH-NOT: without work

func.func @main(%x: tensor<?x4xf32> {gantry.name = "x"}) -> tensor<?x4xf32> {
  %0 = gantry.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
