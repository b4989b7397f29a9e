// A depthwise convolution that fits the cache stays apart from its neighbours by default; over the limit they are computed
// row by row, which takes what is between them off, with the same bits.
// RUN: bash -c "gantry compile %s --devices=CPU:0@400KiB -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: the plan needs {{.*}} on '/job:localhost/replica:0/task:0/device:CPU:0', the limit is 400 KiB
// RUN: gantry compile %s --devices=CPU:0@400KiB --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: convolutions are computed row by row with those around them: saves {{.*}} KiB, {{.*}}; predicted {{.*}} -> {{.*}} per run ({{.*}}x)
// RUN: gantry run %s --fill ramp --output y=%t.1.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: gantry run %s --chains=memory --fill ramp --threads 2 --output y=%t.3.npy
// RUN: cmp %t.1.npy %t.3.npy
// RUN: not gantry compile %s --chains=all -o %t.gantry 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: --chains: expected one of time, memory, none, got 'all'
func.func @main(%x: tensor<1x16x32x32xf32> {gantry.name = "x"}) -> (tensor<1x16x32x32xf32> {gantry.name = "y"}) {
  %we = gantry.constant dense<0.01> : tensor<96x16x1x1xf32>
  %wd = gantry.constant dense<0.02> : tensor<96x1x3x3xf32>
  %wp = gantry.constant dense<0.03> : tensor<16x96x1x1xf32>
  %0 = gantry.conv %x, %we {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x32x32xf32>, tensor<96x16x1x1xf32>) -> tensor<1x96x32x32xf32>
  %1 = gantry.relu %0 : (tensor<1x96x32x32xf32>) -> tensor<1x96x32x32xf32>
  %2 = gantry.conv %1, %wd {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 96 : i64} : (tensor<1x96x32x32xf32>, tensor<96x1x3x3xf32>) -> tensor<1x96x32x32xf32>
  %3 = gantry.relu %2 : (tensor<1x96x32x32xf32>) -> tensor<1x96x32x32xf32>
  %4 = gantry.conv %3, %wp {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x96x32x32xf32>, tensor<16x96x1x1xf32>) -> tensor<1x16x32x32xf32>
  %5 = gantry.add %4, %x : (tensor<1x16x32x32xf32>, tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32>
  return %5 : tensor<1x16x32x32xf32>
}
