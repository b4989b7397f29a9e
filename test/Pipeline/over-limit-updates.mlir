// A step of training: steps run again on the way back, products among them, updates of weights and moments stay in place, and three steps leave the same bytes in the variables.
// RUN: bash -c "gantry compile %s --devices=CPU:0@4400KiB -o %t.gantry; test \$? = 3"
// RUN: gantry compile %s --devices=CPU:0@4400KiB --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: CPU:0: {{[0-9]+}} ops run again{{.*}} for values that are read late: saves {{.*}} MiB, adds {{.*}} per run
// RUN: gantry explain %t.gantry --json | FileCheck %s --check-prefix=PLAN
// PLAN: /again_
// RUN: gantry run %s --devices=CPU:0 --fill normal --repeat 3 --output loss=%t.1.npy --save-state %t.1.npz
// RUN: gantry run %t.gantry --fill normal --repeat 3 --output loss=%t.2.npy --save-state %t.2.npz
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1.npz %t.2.npz
// Between these limits others would do with less than they ask for.
// RUN: gantry compile %s --devices=CPU:0@5400KiB --over-limit=fix -o %t.gantry
module {
  gantry.variable @w0 = dense<0.002> : tensor<256x256xf32>
  gantry.variable @m0 = dense<0.0> : tensor<256x256xf32>
  gantry.variable @w1 = dense<0.003> : tensor<256x256xf32>
  gantry.variable @m1 = dense<0.0> : tensor<256x256xf32>
  gantry.variable @w2 = dense<0.004> : tensor<256x256xf32>
  gantry.variable @m2 = dense<0.0> : tensor<256x256xf32>
  gantry.variable @w3 = dense<0.005> : tensor<256x256xf32>
  gantry.variable @m3 = dense<0.0> : tensor<256x256xf32>
  func.func @main(%x: tensor<256x256xf32> {gantry.name = "x"}) -> (tensor<f32> {gantry.name = "loss"}) {
    %w0 = gantry.read @w0 : tensor<256x256xf32>
    %m0 = gantry.read @m0 : tensor<256x256xf32>
    %w1 = gantry.read @w1 : tensor<256x256xf32>
    %m1 = gantry.read @m1 : tensor<256x256xf32>
    %w2 = gantry.read @w2 : tensor<256x256xf32>
    %m2 = gantry.read @m2 : tensor<256x256xf32>
    %w3 = gantry.read @w3 : tensor<256x256xf32>
    %m3 = gantry.read @m3 : tensor<256x256xf32>
    %g:5 = gantry.gradient (%w0, %w1, %w2, %w3) : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) -> (tensor<f32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) {
    ^bb0(%a0: tensor<256x256xf32>, %a1: tensor<256x256xf32>, %a2: tensor<256x256xf32>, %a3: tensor<256x256xf32>):
      %z0 = gantry.matmul %x, %a0 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %t0 = gantry.sigmoid %z0 : (tensor<256x256xf32>) -> tensor<256x256xf32>
      %y0 = gantry.mul %z0, %t0 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %z1 = gantry.matmul %y0, %a1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %t1 = gantry.sigmoid %z1 : (tensor<256x256xf32>) -> tensor<256x256xf32>
      %y1 = gantry.mul %z1, %t1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %z2 = gantry.matmul %y1, %a2 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %t2 = gantry.sigmoid %z2 : (tensor<256x256xf32>) -> tensor<256x256xf32>
      %y2 = gantry.mul %z2, %t2 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %z3 = gantry.matmul %y2, %a3 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %t3 = gantry.sigmoid %z3 : (tensor<256x256xf32>) -> tensor<256x256xf32>
      %y3 = gantry.mul %z3, %t3 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %sq = gantry.mul %y3, %y3 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %l = gantry.reduce_mean %sq {axes = array<i64: 0, 1>} : (tensor<256x256xf32>) -> tensor<f32>
      gantry.yield %l : tensor<f32>
    }
    %decay = gantry.constant dense<0.9> : tensor<256x256xf32>
    %rate = gantry.constant dense<0.1> : tensor<256x256xf32>
    %d0 = gantry.mul %m0, %decay : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %n0 = gantry.add %d0, %g#1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @m0, %n0 : tensor<256x256xf32>
    %s0 = gantry.mul %n0, %rate : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %v0 = gantry.sub %w0, %s0 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @w0, %v0 : tensor<256x256xf32>
    %d1 = gantry.mul %m1, %decay : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %n1 = gantry.add %d1, %g#2 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @m1, %n1 : tensor<256x256xf32>
    %s1 = gantry.mul %n1, %rate : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %v1 = gantry.sub %w1, %s1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @w1, %v1 : tensor<256x256xf32>
    %d2 = gantry.mul %m2, %decay : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %n2 = gantry.add %d2, %g#3 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @m2, %n2 : tensor<256x256xf32>
    %s2 = gantry.mul %n2, %rate : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %v2 = gantry.sub %w2, %s2 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @w2, %v2 : tensor<256x256xf32>
    %d3 = gantry.mul %m3, %decay : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %n3 = gantry.add %d3, %g#4 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @m3, %n3 : tensor<256x256xf32>
    %s3 = gantry.mul %n3, %rate : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %v3 = gantry.sub %w3, %s3 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    gantry.assign @w3, %v3 : tensor<256x256xf32>
    return %g#0 : tensor<f32>
  }
}
