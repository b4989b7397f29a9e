// Against NumPy itself: files that it wrote are read, files that we wrote it reads, and what we
// print is what it prints. Skipped where Debian's python3-numpy is not installed.
#include "TemporaryFolder.h"
#include "gantry/Formats/Archive.h"
#include "gantry/Formats/Values.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace gantry;
using namespace gantry::arrays;

namespace {

/// Runs a Python program in `folder`; gives its exit status.
int python(const TemporaryFolder &folder, const std::string &program) {
  std::ofstream(folder / "program.py") << "import numpy as np\n" << program;
  return std::system(
      ("cd " + folder.path() + " && /usr/bin/python3 program.py 2>stderr.txt").c_str());
}

bool haveNumpy() {
  static const bool have = std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0;
  return have;
}

std::string contentOf(const std::string &path) {
  std::ifstream in(path);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

#define SKIP_WITHOUT_NUMPY()                                                                       \
  if (!haveNumpy())                                                                                \
  GTEST_SKIP() << "NumPy is missing: apt-get install python3-numpy"

} // namespace

TEST(Numpy, ReadsItsFiles) {
  SKIP_WITHOUT_NUMPY();
  TemporaryFolder folder;
  ASSERT_EQ(python(folder, "a = np.arange(24).reshape(2, 3, 4)\n"
                           "types = ['i1','u1','<i2','>i4','<i8','<u8','>f4','<f8','<f2','>u2']\n"
                           "np.savez('s.npz', **{t.strip('<>'): a.astype(t) for t in types})\n"
                           "np.savez_compressed('c.npz', x=a.astype('f4'), y=a.T.astype('>f8'))\n"
                           "np.save('t.npy', a.T.astype('f4'))\n"),
            0);
  auto stored = readArrays(folder / "s.npz");
  ASSERT_TRUE(stored) << stored.status().message();
  EXPECT_EQ(stored->size(), 10u);
  for (const NamedArray &array : *stored)
    for (uint64_t i = 0; i < 24; ++i)
      EXPECT_EQ(valueAt(array.array.view(), i), double(i)) << array.name;
  auto compressed = readArrays(folder / "c.npz");
  ASSERT_TRUE(compressed) << compressed.status().message();
  EXPECT_EQ((*compressed)[1].array.type(), "f64[4,3,2]");
  EXPECT_EQ(valueAt((*compressed)[1].array.view(), 1), 12.0);
  auto transposed = readArrays(folder / "t.npy");
  ASSERT_TRUE(transposed) << transposed.status().message();
  EXPECT_EQ(valueAt((*transposed)[0].array.view(), 23), 23.0);
  EXPECT_EQ(valueAt((*transposed)[0].array.view(), 2), 4.0);
}

TEST(Numpy, ReadsOurFiles) {
  SKIP_WITHOUT_NUMPY();
  TemporaryFolder folder;
  auto ramp = Array::make(ElementType::f16, {2, 3}), scalar = Array::make(ElementType::i64, {});
  fill(*ramp, {Fill::Kind::ramp}, 0, "");
  fill(*scalar, {Fill::Kind::ones}, 0, "");
  ASSERT_TRUE(writeNpy(folder / "a.npy", ramp->view()).ok());
  const std::pair<std::string, ArrayView> both[] = {{"a", ramp->view()}, {"b", scalar->view()}};
  ASSERT_TRUE(writeNpz(folder / "a.npz", both).ok());
  EXPECT_EQ(python(folder, "a = np.load('a.npy'); z = np.load('a.npz')\n"
                           "assert a.dtype == np.float16 and (a == [[0,1,2],[3,4,5]]).all()\n"
                           "assert (z['a'] == a).all() and z['b'].shape == () and z['b'] == 1\n"),
            0)
      << contentOf(folder / "stderr.txt");
}

TEST(Numpy, ReadsArchivesOfOtherForms) {
  SKIP_WITHOUT_NUMPY();
  TemporaryFolder folder;
  ASSERT_EQ(python(folder, R"(
import io, zipfile
def npy(value):
  file = io.BytesIO(); np.save(file, np.array(value)); return file.getvalue()
with zipfile.ZipFile('comment.npz', 'w') as z:
  z.comment = b'PK' * 999
  z.writestr('a.npy', npy(1))
class Pipe(io.RawIOBase):  # where sizes follow the contents
  def __init__(self, file): self.file = file
  def writable(self): return True
  def seekable(self): return False
  def write(self, data): return self.file.write(data)
with open('pipe.npz', 'wb') as file, zipfile.ZipFile(Pipe(file), 'w', zipfile.ZIP_DEFLATED) as z:
  z.writestr('a.npy', npy(2))
with zipfile.ZipFile('many.npz', 'w') as z:  # 16 bits do not count them
  for i in range(65536): z.writestr(f'{i}.npy', npy(i))
for name, method in (('bz2.npz', zipfile.ZIP_BZIP2), ('lzma.npz', zipfile.ZIP_LZMA)):
  with zipfile.ZipFile(name, 'w', method) as z: z.writestr('a.npy', npy(3))
)"),
            0)
      << contentOf(folder / "stderr.txt");
  for (const auto &[name, value] : {std::pair("comment.npz", 1.0), {"pipe.npz", 2.0}}) {
    auto arrays = readArrays(folder / name);
    ASSERT_TRUE(arrays) << arrays.status().message();
    EXPECT_EQ(valueAt(arrays->at(0).array.view(), 0), value) << name;
  }
  auto many = readArrays(folder / "many.npz");
  ASSERT_TRUE(many) << many.status().message();
  ASSERT_EQ(many->size(), 65536u);
  EXPECT_EQ(many->back().name, "65535");
  EXPECT_EQ(valueAt(many->back().array.view(), 0), 65535.0);
  for (const char *name : {"bz2.npz", "lzma.npz"})
    EXPECT_EQ(readArrays(folder / name).status().message(),
              "'" + (folder / name) +
                  "' packs entry 'a.npy' by another method than NumPy's, stored or deflated");
}

TEST(Numpy, ReadsOurLargeArchives) {
  SKIP_WITHOUT_NUMPY();
  TemporaryFolder folder;
  auto byte = Array::make(ElementType::u8, {});
  byte->bytes.data()[0] = 7;
  std::vector<std::pair<std::string, ArrayView>> many;
  for (int i = 0; i < 65536; ++i)
    many.emplace_back(std::to_string(i), byte->view());
  ASSERT_TRUE(writeNpz(folder / "many.npz", many).ok());
  EXPECT_EQ(python(folder, "import zipfile\n"
                           "z = np.load('many.npz')\n"
                           "assert len(z.files) == 65536 and z['65535'] == 7\n"
                           "assert zipfile.ZipFile('many.npz').testzip() is None\n"),
            0)
      << contentOf(folder / "stderr.txt");
}

TEST(Numpy, PrintsTheSame) {
  SKIP_WITHOUT_NUMPY();
  TemporaryFolder folder;
  ASSERT_EQ(python(folder, R"(
r = np.random.RandomState(0)
cases = [
  r.randn(3, 4).astype('f4'), r.randn(5).astype('f8'), np.arange(6.).reshape(2, 3).astype('f4'),
  np.array([1e-7, 1, 1000], 'f4'), np.array([1e10, 2.5e9], 'f8'), np.array([0.1, 0.25], 'f2'),
  np.array([np.nan, np.inf, -np.inf, 1.5], 'f4'), np.array([np.inf, np.nan], 'f8'),
  np.arange(100, dtype='i4'), np.arange(-50, 50, dtype='i8').reshape(2, 50), np.array(3.25, 'f4'),
  r.randn(40, 50).astype('f4'), np.arange(2000, dtype='i4'), r.rand(2, 3, 4).astype('f4'),
  r.rand(20, 20, 20).astype('f4'), np.array([True, False]), np.zeros((2, 2), 'f4'),
  r.randn(30).astype('f4'), r.randn(2, 2, 11).astype('f8'), np.array([[1]], 'u1'),
  np.array([2**63], 'u8'), np.array([1e-5, 1e-5], 'f4'), np.array([123456.789, 1.5], 'f8'),
  np.array([-0.0, 0.0], 'f4'), np.array([1/3, 2/3, 1e3], 'f8'), np.array([65504, 6e-8], 'f2'),
  np.array([99999999.0], 'f4'), np.array([1e38, 1e-38], 'f4'), np.array([1e300, 1e-300], 'f8'),
]
for i, a in enumerate(cases):
  np.save(f'{i}.npy', a)
  open(f'{i}.txt', 'w').write(np.array2string(a))
open('count', 'w').write(str(len(cases)))
)"),
            0)
      << contentOf(folder / "stderr.txt");
  const int count = std::stoi(contentOf(folder / "count"));
  for (int i = 0; i < count; ++i) {
    auto arrays = readArrays(folder / (std::to_string(i) + ".npy"));
    ASSERT_TRUE(arrays) << arrays.status().message();
    EXPECT_EQ(formatValues(arrays->at(0).array.view()),
              contentOf(folder / (std::to_string(i) + ".txt")));
  }
}

TEST(Numpy, ComparesTheSame) {
  SKIP_WITHOUT_NUMPY();
  TemporaryFolder folder;
  ASSERT_EQ(python(folder, "r = np.random.RandomState(0)\n"
                           "a = r.randn(1000); b = a * (1 + 1e-3 * r.randn(1000))\n"
                           "np.savez('x.npz', a=a, b=b)\n"
                           "open('n', 'w').write(str((~np.isclose(a, b, 1e-3, 1e-6)).sum()))\n"),
            0);
  auto arrays = readArrays(folder / "x.npz");
  ASSERT_TRUE(arrays);
  const Difference difference =
      compare((*arrays)[0].array.view(), (*arrays)[1].array.view(), 1e-3, 1e-6);
  EXPECT_EQ(std::to_string(difference.outside), contentOf(folder / "n"));
  EXPECT_GT(difference.outside, 0u);
}
